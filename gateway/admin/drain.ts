/** Holds the engine's end back until the work in flight has ended. */
import type { Activity } from './activity.ts';

export interface DrainOptions {
  activity: Activity;
  /** Work beside the requests in flight: taken slots, claimed jobs. */
  countWork?: () => number;
  isEngineHealthy: () => boolean;
  /** The longest that a drain may take. */
  timeoutMs: number;
  onChange?: (isDraining: boolean) => void;
  timing?: Partial<DrainTiming>;
}

export interface DrainTiming {
  /** So long without a new request means that the endpoint has turned away from here. */
  quietMs: number;
  /** No longer than this is waited for quiet. */
  quietAtMostMs: number;
  stepMs: number;
}

const TIMING: DrainTiming = { quietMs: 5_000, quietAtMostMs: 30_000, stepMs: 50 };

export type DrainResult = 'drained' | 'timeout' | 'unhealthy';

export class Drain {
  readonly #options: DrainOptions;
  readonly #timing: DrainTiming;
  #startedAt: number | null = null;
  #running: Promise<DrainResult> | null = null;

  constructor(options: DrainOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  get isDraining(): boolean {
    return this.#startedAt !== null;
  }

  /** Milliseconds left of the time that a drain may take. */
  get remainingMs(): number {
    const elapsed = this.#startedAt === null ? 0 : performance.now() - this.#startedAt;
    return Math.max(0, this.#options.timeoutMs - elapsed);
  }

  /** Starts to drain, or joins the drain that runs. An unhealthy engine has nothing that is worth the wait. */
  begin(): Promise<DrainResult> {
    if (this.#startedAt === null) {
      this.#startedAt = performance.now();
      this.#options.activity.setClosing(true);
      this.#options.onChange?.(true);
    }
    this.#running ??= this.#wait().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** A restarted engine is healthy: this pod was not to end after all. */
  cancel(): void {
    if (this.#startedAt === null) return;
    this.#startedAt = null;
    this.#options.activity.setClosing(false);
    this.#options.onChange?.(false);
  }

  async #wait(): Promise<DrainResult> {
    const { activity, countWork = () => 0, isEngineHealthy } = this.#options;
    const { quietMs, quietAtMostMs, stepMs } = this.#timing;
    const begun = performance.now();
    for (;;) {
      if (!isEngineHealthy()) return 'unhealthy';
      if (this.remainingMs === 0) return 'timeout';
      const now = performance.now();
      const isQuiet =
        now - begun >= quietAtMostMs || now - Math.max(begun, activity.lastRequestAt) >= quietMs;
      if (isQuiet && activity.inflight + countWork() === 0) return 'drained';
      await new Promise((resolve) => setTimeout(resolve, stepMs));
    }
  }
}
