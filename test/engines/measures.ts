/** Figures that a run reports besides its tests; the stage writes them into the table of docs/tested-engines.md. */
import { ask, type Fields } from './answers.ts';
import type { ServedModel } from './served-model.ts';

const PREFIX = 'measured ';

export function tellMeasure(what: string, value: string): void {
  console.log(`      ${PREFIX}${what}: ${value}`);
}

/** From a run's output. */
export const readMeasures = (output: string): string[] =>
  [...output.matchAll(new RegExp(`^ *${PREFIX}(.+)$`, 'gm'))].map(([, measure]) => measure!);

/** The longest time that passed between two frames of a stream, the later one being `first` or after it; 0 without any. */
export function largestGap(arrivals: readonly number[], first: number): number {
  const gaps = arrivals.map((at, index) => (index < first || index === 0 ? 0 : at - arrivals[index - 1]!));
  return Math.max(0, ...gaps);
}

const ROUNDS = 40;

/** Medians in milliseconds; both are measured in turns. */
export async function addedLatency(
  { engine, gateway }: Pick<ServedModel, 'engine' | 'gateway'>,
  path: string,
  body: Fields,
): Promise<{ direct: number; gateway: number }> {
  const times: Record<'direct' | 'gateway', number[]> = { direct: [], gateway: [] };
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, target] of [['direct', engine] as const, ['gateway', gateway] as const]) {
      const start = performance.now();
      await ask(target, path, body);
      times[name].push(performance.now() - start);
    }
  return { direct: median(times.direct), gateway: median(times.gateway) };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
