/** The queue's rows and goals of `make bench`. Pure. */
import type { Cost, KeyFigures, QueueFigures } from './queue.ts';
import { atLeast, atMost, formatRows, type Goal } from './report.ts';

type Call = 'admitMs' | 'listMs' | 'detailMs';
type Operation = Exclude<keyof QueueFigures, 'records' | Call>;

const OPERATIONS: [Operation, string][] = [
  ['admit', 'admit'],
  ['submit', 'submit'],
  ['claimAndFinish', 'claim + finish'],
  ['list200', 'list of 200'],
];
const READS: [Call, string][] = [
  ['listMs', 'list of 20'],
  ['detailMs', 'detail'],
];
/** An admission has no goal of its own: it is most of what one request waits for before it goes to the engine. */
const CALLS: [Call, string][] = [['admitMs', 'admission, one at a time'], ...READS];
const FIGURES: [keyof Cost, string, number][] = [
  ['perSecond', 'per second', 0],
  ['redisMicros', 'CPU µs of Redis', 1],
];

/** One column for each number of records. */
export function formatQueue(figures: readonly QueueFigures[]): string {
  const rows = OPERATIONS.flatMap(([operation, label]) =>
    FIGURES.map(([figure, unit, digits]) => [
      `${label}, ${unit}`,
      ...figures.map((costs) => costs[operation][figure].toFixed(digits)),
    ]),
  );
  for (const [figure, label] of CALLS)
    rows.push([`${label}, p50 ms`, ...figures.map((costs) => costs[figure].toFixed(2))]);
  return formatRows([['queue on one Redis', ...figures.map(({ records }) => `${records} records`)], ...rows]);
}

export const formatKeys = (figures: readonly KeyFigures[]): string =>
  formatRows([
    ['admissions', ...figures.map(({ keys }) => `${keys} API keys`)],
    ...FIGURES.map(([figure, unit, digits]) => [
      unit,
      ...figures.map(({ admit }) => admit[figure].toFixed(digits)),
    ]),
  ]);

/** How much more many keys may cost. */
export function listKeyGoals(figures: readonly KeyFigures[]): Goal[] {
  const [first] = figures;
  const last = figures.at(-1);
  if (!first || !last) return [];
  const growth = last.admit.redisMicros / first.admit.redisMicros;
  return [atMost(`admit with ${last.keys} ÷ ${first.keys} API keys`, growth, 1.5)];
}

/** Goals with few records, and how much more many may cost. */
export function listQueueGoals(figures: readonly QueueFigures[]): Goal[] {
  const [first] = figures;
  const last = figures.at(-1);
  if (!first || !last) return [];
  const growth = (operation: Operation) => last[operation].redisMicros / first[operation].redisMicros;
  return [
    // By the CPU of one Redis: the rates above are limited by one client.
    atLeast('submissions/s by the CPU of Redis', 1e6 / first.submit.redisMicros, 40_000),
    atLeast('claims with finish/s by the CPU of Redis', 1e6 / first.claimAndFinish.redisMicros, 25_000),
    ...READS.map(([figure, label]) =>
      atMost(`${label} with ${last.records} records: p50, ms`, last[figure], 1),
    ),
    ...OPERATIONS.map(([operation, label]) =>
      atMost(`${label} with ${last.records} ÷ ${first.records} records`, growth(operation), 1.5),
    ),
  ];
}
