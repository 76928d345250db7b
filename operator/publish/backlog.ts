/** Targets that are to be written: those that were marked, and those that failed before. */
import { isRedisAway } from '../../redis/client.ts';
import { isWhole, mergeTargets, type Target, targetKey, widenTarget } from './desired-state.ts';
import { Retries } from './retries.ts';

/** Of one target that fails while Redis is there. */
const BACKOFF = { baseMs: 200, maxMs: 30_000 };

export class Backlog {
  readonly #marked = new Map<string, Target>();
  /** Why the last attempt failed, by key. */
  readonly #failures = new Map<string, string>();
  /** What failed while Redis was there. */
  readonly #retries = new Retries(BACKOFF);

  mark(target: Target): void {
    const key = targetKey(target);
    this.#marked.set(key, mergeTargets(this.#marked.get(key), target));
  }

  isMarked(target: Target): boolean {
    return this.#marked.has(targetKey(target));
  }

  /** Why the last attempt to write a target failed; undefined if it succeeded. */
  failureOf(target: Target): string | undefined {
    return this.#failures.get(targetKey(target));
  }

  hasRetry(target: Target): boolean {
    return this.#retries.has(targetKey(target));
  }

  get marked(): number {
    return this.#marked.size;
  }

  get isEmpty(): boolean {
    return this.#marked.size + this.#retries.size === 0;
  }

  /** Until the next retry is due; infinite where there is none. */
  get nextInMs(): number {
    return this.#retries.nextInMs;
  }

  /** What is marked or to be tried again now; none of it is marked afterwards. */
  take(): Target[] {
    for (const target of this.#retries.due()) this.mark(target);
    const targets = [...this.#marked.values()];
    this.#marked.clear();
    return targets;
  }

  /** Notes how the writing of a target ended; `failure` is undefined if it succeeded. */
  settle(target: Target, failure: unknown): { isChanged: boolean; isFirstRetry: boolean } {
    const key = targetKey(target);
    const hadFailed = this.#failures.has(key);
    let isFirstRetry = false;
    if (failure === undefined) {
      // A part says nothing of the rest, which may have failed.
      if (isWhole(target)) {
        this.#failures.delete(key);
        this.#retries.delete(key);
      }
    } else {
      this.#failures.set(key, describe(failure));
      if (isRedisAway(failure)) this.mark(target);
      else isFirstRetry = this.#retries.note(widenTarget(target)) === 1;
    }
    return { isChanged: hadFailed !== this.#failures.has(key), isFirstRetry };
  }
}

export const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
