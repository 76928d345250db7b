/**
 * Shares the event loop among owners by the time that their work takes: expensive work is done in steps, in turns, with pauses that
 * leave half of the loop to everything else (decision 0007).
 */
import { type Clock, systemClock } from './clock.ts';
import { type Turn, Turns } from './turns.ts';

/** Does a step up to each `yield`, of a few milliseconds at most; a promise that it yields is awaited, and others have turns meanwhile. */
export type Steps<T> = Generator<Promise<unknown> | undefined, T>;

/** Steps are taken for so long in one turn. */
const TURN_MS = 2;
/** After a step that took longer, the loop is left to others for no longer than this. */
const MAX_PAUSE_MS = 100;
/** Shorter work is not worth counting. */
const MIN_CHARGE_MS = 0.2;

/** Takes steps until the time; true once it is over, a promise to wait for it. Never throws. */
type Task = (until: number) => boolean | Promise<unknown>;

export class LoopTurns {
  readonly #clock: Clock;
  readonly #turns = new Turns<Task>();
  /** Owners whose task waits for a promise. */
  readonly #blocked = new Set<string>();
  #isScheduled = false;
  /** By the clock: the end of the pause. */
  #freeAt = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Does work of less than a turn: at once, unless its owner has other work here or has just used more than its share. */
  take<T>(owner: string, work: () => T): T | Promise<T> {
    const startedAt = this.#clock.now();
    if (!this.#turns.isIdle) {
      this.#forgiveAfterPause(startedAt);
      if (!this.#turns.isFree(owner)) return this.run(owner, once(work));
    }
    try {
      return work();
    } finally {
      const now = this.#clock.now();
      const tookMs = now - startedAt;
      if (tookMs >= MIN_CHARGE_MS) this.#turns.charge(owner, tookMs);
      this.#pause(now, tookMs);
    }
  }

  /** Does work in turns, each owner's in order of arrival. Rejects with what a step throws. */
  run<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const advance = (until: number) => {
        try {
          do {
            const { done, value } = steps.next();
            if (done) {
              resolve(value);
              return true;
            }
            if (value) return value as Promise<unknown>;
          } while (this.#clock.now() < until);
          return false;
        } catch (error) {
          reject(error);
          return true;
        }
      };
      const now = this.#clock.now();
      this.#forgiveAfterPause(now);
      this.#turns.add(owner, advance);
      if (this.#isScheduled || now < this.#freeAt) this.#schedule();
      else this.#giveTurn();
    });
  }

  /** Short tasks share a turn: a timer for each would let through no more than one a millisecond, however many wait. */
  #giveTurn(): void {
    const startedAt = this.#clock.now();
    const until = startedAt + TURN_MS;
    let now = startedAt;
    let turn: Turn<Task> | null;
    do {
      turn = this.#turns.next((owner) => !this.#blocked.has(owner));
      if (!turn) break;
      const { owner, item: task } = turn;
      const outcome = task(until);
      const tookMs = this.#clock.now() - now;
      now += tookMs;
      this.#turns.charge(owner, tookMs);
      if (outcome === true) this.#turns.remove(owner, task);
      else if (outcome !== false) this.#block(owner, outcome);
    } while (now < until);
    this.#pause(now, now - startedAt);
    // Otherwise nothing waits, or each owner with work waits for a promise, which schedules the next turn.
    if (turn) this.#schedule();
  }

  /** The loop belongs to others for as long as it was used. */
  #pause(now: number, usedMs: number): void {
    if (usedMs >= MIN_CHARGE_MS) this.#freeAt = now + Math.min(usedMs, MAX_PAUSE_MS);
  }

  /** What was used does not matter where nobody waits, and the loop was left to others for as long. */
  #forgiveAfterPause(now: number): void {
    if (now >= this.#freeAt && this.#turns.size === 0) this.#turns.forgive();
  }

  #block(owner: string, event: Promise<unknown>): void {
    this.#blocked.add(owner);
    const unblock = () => {
      this.#blocked.delete(owner);
      this.#schedule();
    };
    event.then(unblock, unblock);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#turns.size === 0) return;
    this.#isScheduled = true;
    const giveTurn = () => {
      this.#isScheduled = false;
      this.#giveTurn();
    };
    this.#clock.after(Math.max(0, this.#freeAt - this.#clock.now()), giveTurn);
  }
}

// biome-ignore lint/correctness/useYield: it has one step
function* once<T>(work: () => T): Steps<T> {
  return work();
}
