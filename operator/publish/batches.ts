/** Writes targets in sequential batches: of two concurrent ones the older could end later and undo the newer. */
import type { Target } from './desired-state.ts';
import type { Writer } from './writing.ts';

export class Batches {
  readonly #writer: Pick<Writer, 'plan'>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(writer: Pick<Writer, 'plan'>) {
    this.#writer = writer;
  }

  /** Runs `write` once everything started before has ended. */
  alone<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(write);
    this.#last = written.catch(() => {});
    return written;
  }

  /** Executes what is decided about all of these at one moment; returns failures, in order. */
  execute(targets: readonly Target[]): Promise<unknown[]> {
    return this.alone(async () => {
      const plans = targets.map((target) => this.#writer.plan(target));
      const failures: unknown[] = targets.map(() => undefined);
      for (const step of ['retract', 'write'] as const)
        await Promise.all(
          plans.map(async (plan, index) => {
            if (failures[index] !== undefined) return;
            await plan[step]().catch((error) => {
              failures[index] = error;
            });
          }),
        );
      return failures;
    });
  }
}
