/** Where an answer of the simulator differs from the recorded one of the engine. */
import type { RecordedAnswer, Shape } from '../../engines/recorded-answers.ts';

export interface Difference {
  /** Dotted path, such as `body.error.message`. */
  at: string;
  recorded: unknown;
  simulated: unknown;
}

export const compareAnswers = (recorded: RecordedAnswer, simulated: RecordedAnswer): Difference[] =>
  compare(recorded as never, simulated as never, []);

function compare(recorded: Shape | undefined, simulated: Shape | undefined, path: string[]): Difference[] {
  if (isBranch(recorded) && isBranch(simulated) && Array.isArray(recorded) === Array.isArray(simulated)) {
    // Frames of different number have no counterparts.
    const isComparable = !Array.isArray(recorded) || recorded.length === (simulated as Shape[]).length;
    if (isComparable)
      return [...new Set([...Object.keys(recorded), ...Object.keys(simulated)])].flatMap((key) =>
        compare((recorded as Record<string, Shape>)[key], (simulated as Record<string, Shape>)[key], [
          ...path,
          key,
        ]),
      );
  }
  return JSON.stringify(recorded) === JSON.stringify(simulated)
    ? []
    : [{ at: path.join('.'), recorded, simulated }];
}

const isBranch = (shape: Shape | undefined): shape is Shape[] | { [field: string]: Shape } =>
  typeof shape === 'object' && shape !== null;
