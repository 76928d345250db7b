/** An engine's actual concurrency, if lower than its slots: long prompts fill a GPU's memory (decision 0335). No I/O. */
import type { DeploymentSample } from './demand.ts';

/** A sample's state covers at most this long before it. */
const MAX_SPAN_MS = 5_000;
/** A smaller total queue of all replicas is not significant. */
const MIN_FULL_MS = 10_000;
/** How long the last queue is remembered, to avoid oscillation of replicas that were added for it. */
const MEMORY_MS = 1_800_000;
/** Averaging window. */
const AVERAGE_MS = 120_000;

export class EngineLimit {
  /** Requests queued within engines. */
  queued = 0;
  /** Integrals over the relevant time: of that time, of the part in which an engine had a queue, and of running requests. */
  #seen = { ms: 0, fullMs: 0, runMs: 0 };
  #fullAt = Number.NEGATIVE_INFINITY;

  /** Adds the next sample, `elapsedMs` after the previous one. */
  add({ replicas, at }: DeploymentSample, elapsedMs: number): void {
    const spanMs = Math.min(elapsedMs, MAX_SPAN_MS);
    this.queued = 0;
    for (const { inflight, waiting, draining } of replicas) {
      if (draining || waiting === undefined) continue;
      this.queued += waiting;
      if (waiting > 0) this.#learn(Math.max(1, inflight - waiting), { spanMs, at, isFull: true });
      // More concurrent requests without a queue.
      else if (inflight > (this.at(at) ?? Number.POSITIVE_INFINITY))
        this.#learn(inflight, { spanMs, at, isFull: false });
    }
  }

  /** Average concurrency of full engines; undefined if none was full recently. `at`: Unix milliseconds. */
  at(at: number): number | undefined {
    const { ms, fullMs, runMs } = this.#seen;
    return fullMs >= MIN_FULL_MS && this.#remembers(at) ? runMs / ms : undefined;
  }

  /** Also after the clock went back slightly; not with a different clock. */
  #remembers = (at: number): boolean => Math.abs(at - this.#fullAt) <= MEMORY_MS;

  #learn(running: number, { spanMs, at, isFull }: { spanMs: number; at: number; isFull: boolean }): void {
    const { ms, fullMs, runMs } = this.#remembers(at) ? this.#seen : { ms: 0, fullMs: 0, runMs: 0 };
    const share = ms > AVERAGE_MS ? 0.5 : 1;
    this.#seen = {
      ms: ms * share + spanMs,
      fullMs: fullMs * share + (isFull ? spanMs : 0),
      runMs: runMs * share + running * spanMs,
    };
    if (isFull) this.#fullAt = at;
  }
}
