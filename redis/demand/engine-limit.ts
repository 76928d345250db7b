/** What a replica's engine runs at a time, where that is less than it is given: long prompts fill a GPU's memory. No I/O. */
import type { DeploymentSample } from './demand.ts';

/** What a sample says of now holds for no longer before it. */
const MAX_SPAN_MS = 5_000;
/** A queue of less than this, of all replicas together, means nothing yet. */
const MIN_FULL_MS = 10_000;
/** For so long the last queue is remembered: without one, replicas that came for it would go and come again. */
const MEMORY_MS = 1_800_000;
/** How much is averaged. */
const AVERAGE_MS = 120_000;

export class EngineLimit {
  /** Requests that wait within engines now. */
  queued = 0;
  /** Integrals over the time that counts: of that time, of the part in which an engine had a queue, and of what ran. */
  #seen = { ms: 0, fullMs: 0, runMs: 0 };
  #fullAt = Number.NEGATIVE_INFINITY;

  /** Takes the next sample, `elapsedMs` after the one before. */
  add({ replicas, at }: DeploymentSample, elapsedMs: number): void {
    const spanMs = Math.min(elapsedMs, MAX_SPAN_MS);
    this.queued = 0;
    for (const { inflight, waiting, draining } of replicas) {
      if (draining || waiting === undefined) continue;
      this.queued += waiting;
      if (waiting > 0) this.#learn(Math.max(1, inflight - waiting), { spanMs, at, isFull: true });
      // More at a time, and none of them waits.
      else if (inflight > (this.at(at) ?? Number.POSITIVE_INFINITY))
        this.#learn(inflight, { spanMs, at, isFull: false });
    }
  }

  /** Requests at a time, on average over those that were full; undefined where none was lately. `at`: Unix milliseconds. */
  at(at: number): number | undefined {
    const { ms, fullMs, runMs } = this.#seen;
    return fullMs >= MIN_FULL_MS && this.#remembers(at) ? runMs / ms : undefined;
  }

  /** Also after the clock went back; not with one that is quite another. */
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
