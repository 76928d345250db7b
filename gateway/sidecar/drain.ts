/** Delays stopping the engine until work in flight has ended. */
import { sleep, systemClock } from '../../kit/clock.ts';
import type { Activity } from '../http/activity.ts';

export interface DrainOptions {
  activity: Activity;
  /** Work beside the requests in flight: taken slots, claimed jobs. */
  countWork?: () => number;
  /** The engine is gone or abandoned: nothing in flight can succeed. A slow one is neither. */
  isEngineLost: () => boolean;
  /** The maximum duration of a drain. */
  timeoutMs: number;
  timing?: Partial<DrainTiming>;
}

export interface DrainTiming {
  /** Without a new request for this long, the endpoint no longer routes here. */
  quietMs: number;
  /** The maximum wait for that. */
  quietAtMostMs: number;
  stepMs: number;
}

const TIMING: DrainTiming = { quietMs: 5_000, quietAtMostMs: 30_000, stepMs: 50 };

export type DrainResult = 'drained' | 'timeout' | 'lost' | 'canceled';

export class Drain {
  readonly #options: DrainOptions;
  readonly #timing: DrainTiming;
  readonly #listeners: ((isDraining: boolean) => void)[] = [];
  #startedAt: number | null = null;
  #running: Promise<DrainResult> | null = null;
  #result: DrainResult | null = null;

  constructor(options: DrainOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  get isDraining(): boolean {
    return this.#startedAt !== null;
  }

  /** Someone waits for the end of the drain. */
  get isAwaited(): boolean {
    return this.#running !== null;
  }

  /** Milliseconds left of the drain's maximum duration. */
  get remainingMs(): number {
    const elapsed = this.#startedAt === null ? 0 : performance.now() - this.#startedAt;
    return Math.max(0, this.#options.timeoutMs - elapsed);
  }

  onChange(listener: (isDraining: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** Starts a drain, or joins the current one. A lost engine has nothing worth waiting for. */
  begin(): Promise<DrainResult> {
    if (this.#startedAt === null) {
      this.#startedAt = performance.now();
      this.#tell(true);
    }
    this.#running ??= this.#wait().then((result) => {
      this.#running = null;
      this.#result = result;
      return result;
    });
    return this.#running;
  }

  /**
   * Waits until the endpoint no longer routes here, if the engine was lost before that, with or without a drain:
   * peers and queues still serve new requests. In all other cases it resolves at once.
   */
  async settle(): Promise<void> {
    const isLeft = this.#startedAt === null ? this.#options.isEngineLost() : this.#result === 'lost';
    if (!isLeft) return;
    // Without a drain, the start of the pod's termination is unknown: only requests show whether it is still routed to.
    const since = this.#startedAt ?? Number.NEGATIVE_INFINITY;
    const limit = performance.now() + this.#timing.quietAtMostMs;
    while (performance.now() < limit && this.remainingMs > 0 && !this.#isQuietSince(since))
      await sleep(systemClock, this.#timing.stepMs);
  }

  /**
   * The engine is ready again. If it was restarted, this pod was not being terminated after all; if not, it may only have
   * been slow, and the drain's caller still wants to terminate the pod.
   */
  cancel({ isRestarted }: { isRestarted: boolean }): void {
    if (this.#startedAt === null || (this.#running && !isRestarted)) return;
    this.#startedAt = null;
    this.#tell(false);
  }

  #tell(isDraining: boolean): void {
    this.#options.activity.setClosing(isDraining);
    for (const listener of this.#listeners) listener(isDraining);
  }

  async #wait(): Promise<DrainResult> {
    const { activity, countWork = () => 0, isEngineLost } = this.#options;
    const { quietAtMostMs, stepMs } = this.#timing;
    const startedAt = performance.now();
    for (;;) {
      if (this.#startedAt === null) return 'canceled';
      if (isEngineLost()) return 'lost';
      if (this.remainingMs === 0) return 'timeout';
      const isQuiet = performance.now() - startedAt >= quietAtMostMs || this.#isQuietSince(startedAt);
      if (isQuiet && activity.inflight + countWork() === 0) return 'drained';
      await sleep(systemClock, stepMs);
    }
  }

  #isQuietSince(time: number): boolean {
    const lastAt = Math.max(time, this.#options.activity.lastRequestAt);
    return performance.now() - lastAt >= this.#timing.quietMs;
  }
}
