/** A deployment's demand over time, from counters that only grow: a lost sample costs nothing. No I/O. */
import type { DeploymentSample } from './demand.ts';
import { EngineLimit } from './engine-limit.ts';
import { AreaSeries, PeakSeries } from './series.ts';

/** What a decision reads of the demand; all times in milliseconds, all demand in slots that are or would be in use. */
export interface DemandReading {
  /** Average over the last `windowMs`; undefined while less than that was seen. */
  average(windowMs: number): number | undefined;
  /** Highest average of half a stable window that lies within the last `windowMs`; undefined while less than that was seen. */
  peak(windowMs: number): number | undefined;
  /** How long it has been watched without a gap. */
  spanMs: number;
  /** Since something was served, held, refused or queued. */
  idleMs: number;
  /** Somebody waits for a replica now: at a front, or in the queue. */
  isWanted: boolean;
  jobs: DeploymentSample['jobs'];
  /** Requests that wait within engines now. */
  queuedInEngines: number;
  /** Requests that an engine runs at a time, by those that had others waiting lately; undefined where none had. */
  engineLimit: number | undefined;
}

export interface TrendWindows {
  stableMs: number;
  panicMs: number;
  /** For how long peaks are needed. */
  retentionMs: number;
}

/** How long a want holds. A front that holds requests says so each second; one that refuses them, only when the next one comes. */
const WANTED_FOR_MS = { served: 5_000, unserved: 60_000 };
/** Longer without a sample, and what was between is not known. */
const MAX_GAP_MS = 30_000;
const SERVICE_MS = { fallback: 1_000, min: 100, max: 60_000 };
/** Time of Redis that goes back by more is another clock's. */
const MAX_CLOCK_STEP_BACK_MS = 2_000;
/** Beside two for each replica and front: of those that left, in case they only missed a heartbeat. */
const SPARE_COUNTERS = 64;

interface Counter {
  boot: string;
  value: number;
}

export class DemandTrend implements DemandReading {
  #windows: TrendWindows;
  readonly #stable: AreaSeries;
  readonly #panic: AreaSeries;
  readonly #peaks: PeakSeries;
  /** Counters as last seen, by what counts and who, those seen last at the end: a restart is known by its boot id. */
  readonly #counters = new Map<string, Counter>();
  readonly #engineLimit = new EngineLimit();
  #served = { busyMs: 0, arrivals: 0 };
  #area = 0;
  #firstAt = Number.NaN;
  /** Since when all peaks are remembered, as far as they are retained. */
  #peaksFrom = Number.NaN;
  #lastAt = Number.NaN;
  #activeAt = 0;
  jobs: DeploymentSample['jobs'] = { queued: 0, running: 0, paceMs: null };
  isWanted = false;

  constructor(windows: TrendWindows) {
    this.#windows = windows;
    this.#stable = new AreaSeries(windows.stableMs);
    this.#panic = new AreaSeries(windows.panicMs);
    this.#peaks = new PeakSeries(windows.retentionMs);
  }

  /** Of the averages whose peaks count: long enough that chance does not make them. */
  get #peakMs(): number {
    return this.#windows.stableMs / 2;
  }

  /** Whether it was made for these windows; if not, another one is to be started. */
  fits({ stableMs, panicMs }: Omit<TrendWindows, 'retentionMs'>): boolean {
    return this.#windows.stableMs === stableMs && this.#windows.panicMs === panicMs;
  }

  /** Keeps peaks for longer from here on; those that were forgotten stay unknown. */
  retain(retentionMs: number): void {
    const { retentionMs: before } = this.#windows;
    if (retentionMs <= before) return;
    this.#peaksFrom = Math.max(this.#peaksFrom, this.#lastAt - before);
    this.#windows = { ...this.#windows, retentionMs };
    this.#peaks.widen(retentionMs);
  }

  /** Whether a sample of this time adds anything. */
  takes(at: number): boolean {
    return !(at <= this.#lastAt && at >= this.#lastAt - MAX_CLOCK_STEP_BACK_MS);
  }

  /** Takes the next sample; one that is not newer is ignored, after a long gap or with another clock all begins again. */
  add(sample: DeploymentSample): void {
    const { at } = sample;
    if (!this.takes(at)) return;
    if (!(at > this.#lastAt && at - this.#lastAt <= MAX_GAP_MS)) this.#begin(at);
    const elapsedMs = at - this.#lastAt;
    const added = this.#measure(sample, elapsedMs);
    this.#engineLimit.add(sample, elapsedMs);
    this.#area += added;
    this.#lastAt = at;
    this.#stable.push(at, this.#area);
    this.#panic.push(at, this.#area);
    this.jobs = sample.jobs;
    const wantedAt = Math.max(0, ...sample.fronts.map((front) => Math.min(at, front.wantedAt)));
    const isQueued = sample.jobs.queued > 0;
    const isHeld = sample.fronts.some(({ held }) => held > 0);
    const isServed = sample.replicas.some(({ ready }) => ready);
    const wantedForMs = isServed ? WANTED_FOR_MS.served : WANTED_FOR_MS.unserved;
    this.isWanted = isQueued || isHeld || at - wantedAt < wantedForMs;
    const isBusy =
      added > 0 ||
      isQueued ||
      isHeld ||
      sample.jobs.running > 0 ||
      sample.replicas.some(({ inflight }) => inflight > 0);
    const served = sample.replicas.map(({ activeAt }) => Math.min(at, activeAt));
    this.#activeAt = isBusy ? at : Math.max(this.#activeAt, wantedAt, ...served);
    const average = this.average(this.#peakMs);
    if (average !== undefined) this.#peaks.push(at, average);
  }

  average(windowMs: number): number | undefined {
    const series = windowMs <= this.#windows.panicMs ? this.#panic : this.#stable;
    const before = series.areaAt(this.#lastAt - windowMs);
    return before === undefined ? undefined : (this.#area - before) / windowMs;
  }

  peak(windowMs: number): number | undefined {
    return !(this.#lastAt - this.#peaksFrom >= windowMs)
      ? undefined
      : this.#peaks.highestSince(this.#lastAt - windowMs + this.#peakMs);
  }

  get spanMs(): number {
    return Number.isNaN(this.#firstAt) ? 0 : this.#lastAt - this.#firstAt;
  }

  get queuedInEngines(): number {
    return this.#engineLimit.queued;
  }

  get engineLimit(): number | undefined {
    return this.#engineLimit.at(this.#lastAt);
  }

  get idleMs(): number {
    return Math.max(0, this.#lastAt - this.#activeAt);
  }

  #begin(at: number): void {
    this.#firstAt = at;
    this.#peaksFrom = at;
    this.#lastAt = at;
    this.#activeAt = 0;
    this.#counters.clear();
    for (const series of [this.#stable, this.#panic, this.#peaks]) series.clear();
  }

  /** Slot-milliseconds since the last sample: busy, held, and what the refused would have taken. */
  #measure(sample: DeploymentSample, elapsedMs: number): number {
    const isFirst = elapsedMs === 0;
    let area = 0;
    let refused = 0;
    for (const { pod, boot, busyMs, arrivals, limit, inflight } of sample.replicas) {
      // One that started since the last sample can have done no more than this.
      const most = elapsedMs * Math.max(1, limit ?? inflight);
      const busy = this.#advance(`busy ${pod}`, { boot, value: busyMs }, isFirst ? 0 : most);
      const arrived = this.#advance(`arrivals ${pod}`, { boot, value: arrivals }, 0);
      area += busy;
      this.#learn(busy, arrived);
    }
    for (const { front, boot, held, heldMs, refused: count } of sample.fronts) {
      const most = isFirst ? 0 : elapsedMs * Math.max(1, held);
      area += this.#advance(`held ${front}`, { boot, value: heldMs }, most);
      refused += this.#advance(`refused ${front}`, { boot, value: count }, isFirst ? 0 : count);
    }
    this.#forgetGone(2 * (sample.replicas.length + sample.fronts.length) + SPARE_COUNTERS);
    return area + refused * this.#serviceMs();
  }

  /** By how much a counter grew; one of an unknown boot counts from zero, up to `most`. */
  #advance(name: string, current: Counter, most: number): number {
    const known = this.#counters.get(name);
    this.#counters.delete(name);
    this.#counters.set(name, current);
    const growth = known?.boot === current.boot ? current.value - known.value : Math.min(current.value, most);
    // It is a tenant's own to write.
    return growth > 0 && Number.isFinite(growth) ? growth : 0;
  }

  /** Those that were not seen for longest. */
  #forgetGone(most: number): void {
    for (const name of this.#counters.keys()) {
      if (this.#counters.size <= most) return;
      this.#counters.delete(name);
    }
  }

  #learn(busyMs: number, arrivals: number): void {
    const served = this.#served;
    served.busyMs += busyMs;
    served.arrivals += arrivals;
    if (served.arrivals > 1_000) this.#served = { busyMs: served.busyMs / 2, arrivals: served.arrivals / 2 };
  }

  /** What one request takes on average. */
  #serviceMs(): number {
    const { busyMs, arrivals } = this.#served;
    if (arrivals === 0) return SERVICE_MS.fallback;
    return Math.min(SERVICE_MS.max, Math.max(SERVICE_MS.min, busyMs / arrivals));
  }
}
