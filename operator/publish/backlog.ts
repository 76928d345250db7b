/** Targets to be written: marked ones, and failed ones. */
import { isRedisAway } from '../../redis/client.ts';
import { isWhole, mergeTargets, type Target, targetKey, widenTarget } from './desired-state.ts';
import { Retries } from './retries.ts';

/** For a target that fails while Redis is available. */
const BACKOFF = { baseMs: 200, maxMs: 30_000 };

export class Backlog {
  readonly #marked = new Map<string, Target>();
  /** Why the last attempt failed, by key. */
  readonly #failures = new Map<string, string>();
  /** Failures while Redis was available. */
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

  /** Until the next retry is due; infinite if there is none. */
  get nextInMs(): number {
    return this.#retries.nextInMs;
  }

  /** Takes all marked and due targets. */
  take(): Target[] {
    for (const target of this.#retries.due()) this.mark(target);
    const targets = [...this.#marked.values()];
    this.#marked.clear();
    return targets;
  }

  /** Records the result of writing a target; `failure` is undefined if it succeeded. */
  settle(target: Target, failure: unknown): { isChanged: boolean; isFirstRetry: boolean } {
    const key = targetKey(target);
    const hadFailed = this.#failures.has(key);
    let isFirstRetry = false;
    if (failure === undefined) {
      // A partial write does not cover the rest, which may have failed.
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
