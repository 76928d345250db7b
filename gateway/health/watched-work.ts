/** One piece of work at an engine, from its beginning to its end. */
import type { WorkOutcome } from './engine-verdict.ts';

/** Whoever asked for a work. */
export interface WorkSource {
  /** Whether it waits for a slow client, and not for the engine. */
  readonly isHeld: boolean;
  /** Called where no more can come of it, as long as it has not ended. */
  giveUp?(): void;
}

/** What is reported about work. */
export interface WorkObserver {
  seeProgress(): void;
  seeEnd(work: WatchedWork, outcome: WorkOutcome): void;
  suspect(): void;
}

export class WatchedWork {
  /** By which the engine's state knows it; 0 while it does not. */
  id = 0;
  wasHeld = false;
  /** Since the last look. */
  hasOutput = false;
  readonly source: WorkSource;
  readonly #observer: WorkObserver;

  constructor(source: WorkSource, observer: WorkObserver) {
    this.source = source;
    this.#observer = observer;
  }

  /** The engine gives output. */
  progress(): void {
    this.hasOutput = true;
    this.#observer.seeProgress();
  }

  /** Later calls change nothing. */
  end(outcome: WorkOutcome): void {
    this.#observer.seeEnd(this, outcome);
  }

  /** The engine broke the connection. */
  break(): void {
    this.end('fault');
    this.#observer.suspect();
  }
}
