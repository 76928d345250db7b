/** One piece of work at an engine, from start to end. */
import type { Member } from '../../kit/roster.ts';
import type { WorkOutcome } from './engine-verdict.ts';

/** The originator of work. */
export interface WorkSource {
  /** Whether it waits for a slow client, and not for the engine. */
  readonly isHeld: boolean;
  /** Called if it can no longer succeed, unless it has ended. */
  giveUp?(): void;
}

/** What is reported about work. */
export interface WorkObserver {
  seeProgress(): void;
  seeEnd(work: WatchedWork, outcome: WorkOutcome): void;
  suspect(): void;
}

export class WatchedWork implements Member {
  /** Its id in the engine's state; 0 while unknown there. */
  id = 0;
  place = -1;
  wasHeld = false;
  /** Since the last report. */
  hasOutput = false;
  readonly source: WorkSource;
  readonly #observer: WorkObserver;

  constructor(source: WorkSource, observer: WorkObserver) {
    this.source = source;
    this.#observer = observer;
  }

  /** The engine produces output. */
  progress(): void {
    this.hasOutput = true;
    this.#observer.seeProgress();
  }

  /** The first call counts. */
  end(outcome: WorkOutcome): void {
    this.#observer.seeEnd(this, outcome);
  }

  /** The engine broke the connection. */
  break(): void {
    this.end('fault');
    this.#observer.suspect();
  }
}
