/** The cost of traces: Berth with some of its requests sampled, beside Berth without traces. Pure. */
import { formatRows } from '../report.ts';
import { median } from '../statistics.ts';
import type { ShortRun, Turn } from './short-run.ts';

/** Share of requests that are sampled. */
export const TRACED_RATIO = 0.1;

const FIGURES: [name: string, read: (turn: Turn) => number][] = [
  ['CPU per request, µs', ({ cpuPerRequestMicros }) => cpuPerRequestMicros],
  ['CPU per frame, µs', ({ cpuPerFrameMicros }) => cpuPerFrameMicros],
  ['latency p50 of one connection, µs', ({ singleP50Ms }) => singleP50Ms * 1_000],
];

/** Medians of the rounds, `floor` being Berth without traces. The ratio is that of each round, whose two turns are seconds apart. */
export function formatTracing({ rounds }: Pick<ShortRun, 'rounds'>): string {
  const rows = FIGURES.map(([name, read]) => {
    const over = (pick: (round: ShortRun['rounds'][number]) => number) => median(rounds.map(pick)).toFixed(2);
    return [
      name,
      over(({ floor }) => read(floor)),
      over(({ berth }) => read(berth)),
      over(({ floor, berth }) => read(berth) / read(floor)),
    ];
  });
  const errors = rounds.reduce((sum, { floor, berth }) => sum + floor.errors + berth.errors, 0);
  const table = formatRows([['Berth', 'not traced', `${TRACED_RATIO * 100} % sampled`, 'ratio'], ...rows]);
  return errors > 0 ? `${table}\n${errors} requests failed` : table;
}
