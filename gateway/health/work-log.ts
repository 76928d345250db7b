/** Reports the work on an engine to its state, in order. */
import { Roster } from '../../kit/roster.ts';
import type { Observation, WorkOutcome } from './engine-verdict.ts';
import type { WatchedWork } from './watched-work.ts';

export interface WorkLogOptions {
  observe(at: number, seen: Observation): void;
  now(): number;
  /**
   * Whether successes are batched between reports: for a healthy engine one more success is no news (decision 0334), and there may be thousands
   * per second.
   */
  isCalm(): boolean;
}

export class WorkLog {
  readonly #options: WorkLogOptions;
  readonly #tasks = new Roster<WatchedWork>();
  #lastWork = 0;
  /** Work that started and succeeded since the last report, and whether the engine responded at all. */
  #served = 0;
  #hasAnswered = false;

  constructor(options: WorkLogOptions) {
    this.#options = options;
  }

  begin(work: WatchedWork): void {
    this.#tasks.add(work);
    if (!this.#options.isCalm()) this.#reportStart(work, this.#options.now());
  }

  answer(): void {
    if (this.#options.isCalm()) this.#hasAnswered = true;
    else this.report(this.#options.now(), { kind: 'answered' });
  }

  /** False: it had ended before. */
  end(work: WatchedWork, outcome: WorkOutcome): boolean {
    if (!this.#tasks.delete(work)) return false;
    if (work.id === 0 && outcome === 'good' && this.#options.isCalm()) {
      this.#served++;
      return true;
    }
    const at = this.#options.now();
    this.#reportStart(work, at);
    this.report(at, { kind: 'ended', work: work.id, outcome });
    return true;
  }

  /** After everything batched earlier. */
  report(at: number, seen: Observation): void {
    this.#reportGood(at);
    this.#options.observe(at, seen);
  }

  /** Everything not reported yet. */
  sample(at: number): void {
    this.#reportGood(at);
    for (const work of this.#tasks) {
      this.#reportStart(work, at);
      if (work.hasOutput) this.report(at, { kind: 'output', work: work.id });
      work.hasOutput = false;
      const { isHeld } = work.source;
      if (isHeld || work.wasHeld) this.report(at, { kind: 'held', work: work.id, isHeld });
      work.wasHeld = isHeld;
    }
  }

  /** Ends all work that waits for the engine; work that waits for a slow client still has data to send. */
  giveUp(): void {
    for (const { wasHeld, source } of [...this.#tasks]) if (!wasHeld) source.giveUp?.();
  }

  #reportStart(work: WatchedWork, at: number): void {
    if (work.id > 0) return;
    work.id = ++this.#lastWork;
    this.report(at, { kind: 'started', work: work.id });
  }

  #reportGood(at: number): void {
    const count = this.#served;
    const hasAnswered = this.#hasAnswered;
    this.#served = 0;
    this.#hasAnswered = false;
    if (count > 0) this.#options.observe(at, { kind: 'served', count });
    else if (hasAnswered) this.#options.observe(at, { kind: 'answered' });
  }
}
