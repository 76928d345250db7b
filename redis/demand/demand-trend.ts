/** A deployment's demand over time, from monotonic counters: a lost sample does not matter. No I/O. */
import type { DeploymentSample } from './demand.ts';
import { EngineLimit } from './engine-limit.ts';
import { AreaSeries, PeakSeries } from './series.ts';

/** The demand as used in decisions; all times in milliseconds, all demand in slots that are or would be in use. */
export interface DemandReading {
  /** Average over the last `windowMs`; undefined while less was observed. */
  average(windowMs: number): number | undefined;
  /** Highest average of half a stable window within the last `windowMs`; undefined while less was observed. */
  peak(windowMs: number): number | undefined;
  /** How long it has been observed without a gap. */
  spanMs: number;
  /** Since something was served, held, refused or queued. */
  idleMs: number;
  /** Requests wait for a replica: at a front, or in the queue. */
  isWanted: boolean;
  jobs: DeploymentSample['jobs'];
  /** Requests queued within engines. */
  queuedInEngines: number;
  /** Requests that an engine runs concurrently, from engines that recently had a queue; undefined if none had. */
  engineLimit: number | undefined;
}

export interface TrendWindows {
  stableMs: number;
  panicMs: number;
  /** How long peaks are needed. */
  retentionMs: number;
}

/** How long a need lasts. A front reports held requests each second; refused ones, only when the next one arrives. */
const WANTED_FOR_MS = { served: 5_000, unserved: 60_000 };
/** A longer gap between samples is unknown. */
const MAX_GAP_MS = 30_000;
const SERVICE_MS = { fallback: 1_000, min: 100, max: 60_000 };
/** If Redis' time goes back by more, it is a different clock. */
const MAX_CLOCK_STEP_BACK_MS = 2_000;
/** Beside two per replica and front: for those that left, in case they only missed a heartbeat. */
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
  /** Last counters, by type and source, most recent at the end: a restart is detected by the boot id. */
  readonly #counters = new Map<string, Counter>();
  readonly #engineLimit = new EngineLimit();
  #served = { busyMs: 0, arrivals: 0 };
  #area = 0;
  #firstAt = Number.NaN;
  /** Since when all peaks are known, within the retention. */
  #peaksFrom = Number.NaN;
  #lastAt = Number.NaN;
  #activeAt = 0;
  /** The last want that a replica was there for: it starts none again when that replica is removed. */
  #servedWantAt = 0;
  jobs: DeploymentSample['jobs'] = { queued: 0, running: 0, paceMs: null };
  isWanted = false;

  constructor(windows: TrendWindows) {
    this.#windows = windows;
    this.#stable = new AreaSeries(windows.stableMs);
    this.#panic = new AreaSeries(windows.panicMs);
    this.#peaks = new PeakSeries(windows.retentionMs);
  }

  /** Window of the averages whose peaks count: long enough not to be chance. */
  get #peakMs(): number {
    return this.#windows.stableMs / 2;
  }

  /** Whether it was created for these windows; if not, a new one must be started. */
  fits({ stableMs, panicMs }: Omit<TrendWindows, 'retentionMs'>): boolean {
    return this.#windows.stableMs === stableMs && this.#windows.panicMs === panicMs;
  }

  /** Keeps peaks for longer from now on; dropped ones stay unknown. */
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

  /** Adds the next sample; one that is not newer is ignored; a long gap or a different clock resets everything. */
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
    const isRecent = at - wantedAt < wantedForMs;
    if (isServed && !isRecent) this.#servedWantAt = wantedAt;
    this.isWanted = isQueued || isHeld || (isRecent && wantedAt > this.#servedWantAt);
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
    this.#servedWantAt = 0;
    this.#counters.clear();
    for (const series of [this.#stable, this.#panic, this.#peaks]) series.clear();
  }

  /** Slot-milliseconds since the last sample: busy, held, and an estimate for refused requests. */
  #measure(sample: DeploymentSample, elapsedMs: number): number {
    const isFirst = elapsedMs === 0;
    let area = 0;
    let refused = 0;
    for (const { pod, boot, busyMs, arrivals, limit, inflight } of sample.replicas) {
      // A source that started since the last sample cannot have done more than this.
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

  /** The increase of a counter; with an unknown boot id it counts from zero, up to `most`. */
  #advance(name: string, current: Counter, most: number): number {
    const known = this.#counters.get(name);
    this.#counters.delete(name);
    this.#counters.set(name, current);
    const growth = known?.boot === current.boot ? current.value - known.value : Math.min(current.value, most);
    // Tenants can write it.
    return growth > 0 && Number.isFinite(growth) ? growth : 0;
  }

  /** Drops the least recently seen ones. */
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

  /** Average time of a request. */
  #serviceMs(): number {
    const { busyMs, arrivals } = this.#served;
    if (arrivals === 0) return SERVICE_MS.fallback;
    return Math.min(SERVICE_MS.max, Math.max(SERVICE_MS.min, busyMs / arrivals));
  }
}
