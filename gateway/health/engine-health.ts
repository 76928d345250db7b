/** Monitors the engine beside this gateway: by probes, and passively by its requests. */
import type { Dispatcher } from 'undici';
import type { CanaryResult } from './canary.ts';
import { EngineState } from './engine-state.ts';
import type { EngineBounds, EngineVerdict, Observation, WorkOutcome } from './engine-verdict.ts';
import { probeHealth } from './health-probe.ts';
import { RunClock } from './run-clock.ts';
import { type EngineObserver, WatchedDispatcher } from './watched-dispatcher.ts';
import { WatchedWork, type WorkObserver, type WorkSource } from './watched-work.ts';
import { WorkLog } from './work-log.ts';

export interface EngineHealthOptions {
  engineURL: string;
  path: string;
  /** How long work may wait without output before the engine counts as hanging; read each time. */
  stalledMs: () => number;
  bounds?: Partial<EngineBounds>;
  /** Sends it a canary request; without it, failing requests alone make an engine unhealthy. */
  tryEngine?: () => Promise<CanaryResult>;
  /** Called again and again while work waits without any output. */
  onQuiet?: () => void;
  /** Called when the phase changes. */
  onChange?: (now: EngineVerdict, before: EngineVerdict) => void;
  /** Called with every observation of the engine, before it is evaluated. */
  onObservation?: (at: number, seen: Observation) => void;
  timing?: Partial<EngineHealthTiming>;
}

export interface EngineHealthTiming {
  /** Between probes while the engine starts: adds to the latency of waiting requests. */
  startingMs: number;
  /** Between probes while it fails. */
  failingMs: number;
  healthyMs: number;
  /** A probe that takes longer counts as slow. */
  timeoutMs: number;
  evaluateMs: number;
  /** Minimum time between the end of a canary and the next one. */
  tryMs: number;
  /** Work that waits longer without any output makes the engine quiet. */
  quietMs: number;
}

const TIMING: EngineHealthTiming = {
  startingMs: 100,
  failingMs: 1_000,
  healthyMs: 5_000,
  timeoutMs: 10_000,
  evaluateMs: 500,
  tryMs: 10_000,
  quietMs: 5_000,
};
/** A probe in progress that is younger covers the reason for another. */
const FRESH_PROBE_MS = 500;

/** The default of `engineStalledMs`: generous, since a long response may arrive in one piece. */
export const defaultStalledMs = (maxWorkMs: number): number => Math.max(MIN_STALLED_MS, 2 * maxWorkMs);
const MIN_STALLED_MS = 10 * 60_000;

const isGood = ({ phase, isInDoubt }: EngineVerdict): boolean => phase === 'healthy' && !isInDoubt;

export class EngineHealth implements EngineObserver, WorkObserver {
  readonly clock = new RunClock();
  readonly #options: EngineHealthOptions;
  readonly #timing: EngineHealthTiming;
  readonly #state: EngineState;
  readonly #workLog: WorkLog;
  /** Waiters for the end of the startup. */
  readonly #starting = new Set<() => void>();
  readonly #evaluating: NodeJS.Timeout;
  #verdict: EngineVerdict;
  #timer: NodeJS.Timeout | undefined;
  #probe: { startedAt: number; cancel: () => void } | null = null;
  /** Since the start of the probe in progress. */
  #isDoubted = false;
  #isStopped = false;
  #isTrying = false;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(options: EngineHealthOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#state = new EngineState(this.clock.now(), {
      needsProof: options.tryEngine !== undefined,
      ...options.bounds,
    });
    this.#verdict = this.#state.verdict;
    this.#workLog = new WorkLog({
      observe: (at, seen) => {
        options.onObservation?.(at, seen);
        this.#state.observe(at, seen);
      },
      now: () => this.clock.now(),
      // A recording has everything.
      isCalm: () => options.onObservation === undefined && isGood(this.#verdict),
    });
    this.#evaluating = setInterval(() => this.#evaluate(), this.#timing.evaluateMs);
    this.#evaluating.unref();
    this.#startProbe();
  }

  get verdict(): EngineVerdict {
    return this.#verdict;
  }

  /** Requests may be sent to it: it is healthy or busy. */
  get isReady(): boolean {
    return this.#verdict.isReady;
  }

  get isAlive(): boolean {
    return this.#verdict.isAlive;
  }

  /** Its work can no longer succeed. */
  get isLost(): boolean {
    return this.#verdict.isLost;
  }

  /** Connections whose requests are observed. */
  watch(dispatcher: Dispatcher): Dispatcher {
    return new WatchedDispatcher(dispatcher, this);
  }

  /** Probes now: someone saw the engine fail. A probe in progress continues, or successive failures would cancel every probe. */
  suspect(): void {
    if (this.#isStopped) return;
    if (!this.#probe) this.#startProbe();
    else if (!this.#isProbeFresh()) this.#isDoubted = true;
  }

  /** The result of a probe in progress would concern a process that is gone. */
  seeRefusal(): void {
    this.#observe({ kind: 'refused' });
    if (this.#isStopped || this.#isProbeFresh()) return;
    this.#probe?.cancel();
    this.#startProbe();
  }

  seeAnswer(): void {
    this.#workLog.answer();
  }

  begin(source: WorkSource): WatchedWork {
    const work = new WatchedWork(source, this);
    this.#workLog.begin(work);
    return work;
  }

  /** Reported in batches, since there may be thousands per second; immediately if it changes the verdict. */
  seeProgress(): void {
    if (this.#verdict.phase !== 'healthy') this.#evaluate();
  }

  seeEnd(work: WatchedWork, outcome: WorkOutcome): void {
    if (!this.#workLog.end(work, outcome)) return;
    const isSignificant = outcome !== 'good' || !isGood(this.#verdict);
    if (outcome !== 'neutral' && isSignificant) this.#evaluate();
  }

  /** Resolves as soon as it is no longer starting, and after `timeoutMs` at the latest. */
  async waitForStart(timeoutMs: number): Promise<void> {
    if (this.#verdict.phase !== 'starting' || this.#isStopped) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#starting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#starting.add(end);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#endStart();
    this.#probe?.cancel();
    clearTimeout(this.#timer);
    clearInterval(this.#evaluating);
    this.clock.stop();
  }

  #isProbeFresh(): boolean {
    return this.#probe !== null && this.clock.now() - this.#probe.startedAt < FRESH_PROBE_MS;
  }

  #startProbe(): void {
    clearTimeout(this.#timer);
    this.#isDoubted = false;
    const { engineURL, path } = this.#options;
    const probe = probeHealth(`${engineURL}${path}`, {
      timeoutMs: this.#timing.timeoutMs,
      clock: this.clock,
    });
    const current = { startedAt: this.clock.now(), cancel: probe.cancel };
    this.#probe = current;
    void probe.seen.then((seen) => {
      if (this.#isStopped || this.#probe !== current) return;
      this.#probe = null;
      this.#observe(seen);
      this.#timer = setTimeout(() => this.#startProbe(), this.#isDoubted ? 0 : this.#decideDelay());
      this.#timer.unref();
    });
  }

  #decideDelay(): number {
    const { startingMs, failingMs, healthyMs } = this.#timing;
    const { phase } = this.#verdict;
    if (phase === 'healthy') return healthyMs;
    return phase === 'starting' ? Math.min(startingMs, failingMs) : failingMs;
  }

  #observe(seen: Observation): void {
    this.#workLog.report(this.clock.now(), seen);
    this.#evaluate();
  }

  #evaluate(): void {
    if (this.#isStopped) return;
    const at = this.clock.now();
    this.#workLog.sample(at);
    const before = this.#verdict;
    this.#verdict = this.#state.evaluate(at, this.#options.stalledMs());
    if (this.#verdict.phase !== before.phase) this.#options.onChange?.(this.#verdict, before);
    if (this.#verdict.phase !== 'starting') this.#endStart();
    if (this.#state.waitedMs >= this.#timing.quietMs) this.#options.onQuiet?.();
    if (this.#verdict.isInDoubt) void this.#tryEngine(at);
    if (this.#verdict.isDeserted) this.#workLog.giveUp();
  }

  #endStart(): void {
    for (const end of this.#starting) end();
  }

  async #tryEngine(at: number): Promise<void> {
    const { tryEngine } = this.#options;
    if (!tryEngine || this.#isTrying || at - this.#triedAt < this.#timing.tryMs) return;
    this.#isTrying = true;
    const result = await tryEngine();
    this.#isTrying = false;
    // From its end, since a slow one would be followed by the next at once.
    this.#triedAt = this.clock.now();
    if (!this.#isStopped && result !== 'busy') this.#observe({ kind: 'tried', result });
  }
}
