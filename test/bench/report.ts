/** Turns rounds into the table and the ratios of `make bench`. Pure. */
import type { Round } from './rounds.ts';
import { median, poolP99 } from './statistics.ts';

type Figure = Exclude<keyof Round, 'system' | 'rate'> | 'ratePooledP99Ms';

const FIGURES: [Figure, string, number][] = [
  ['requestsPerSecond', 'requests/s on one core', 0],
  ['cpuPerRequestMicros', 'CPU µs/request', 1],
  ['rateCPUMicros', 'CPU µs/request at 1,000/s', 1],
  ['cpuPerFrameMicros', 'CPU µs/SSE frame', 1],
  ['cpuPerPacedFrameMicros', 'CPU µs/SSE frame, one each 10 ms', 1],
  ['singleP50Ms', 'latency p50 ms, 1 connection', 2],
  ['singleP99Ms', 'latency p99 ms, 1 connection', 2],
  ['manyP50Ms', 'latency p50 ms, 64 connections', 2],
  ['manyP99Ms', 'latency p99 ms, 64 connections', 2],
  ['rateP50Ms', 'latency p50 ms, 1,000/s', 2],
  ['rateP99Ms', 'latency p99 ms, 1,000/s', 2],
  ['ratePooledP99Ms', 'the same of all rounds together', 2],
  ['firstFrameP50Ms', 'first frame p50 ms, 100 paced streams', 2],
  ['firstFrameP99Ms', 'first frame p99 ms', 2],
  ['gapP99Ms', 'time between frames p99 ms, of 10', 2],
  ['freedMidStream', 'engine freed in mid-stream, of 20', 0],
  ['freedEarly', 'engine freed before the first byte, of 20', 0],
  ['readyMs', 'ready after start, ms', 0],
  ['idleMiB', 'memory idle, MiB', 0],
  ['peakMiB', 'memory at most, MiB', 0],
  ['promotedKBPerRequest', 'promoted KB/request', 1],
  ['markCompactsPer10000', 'full collections/10,000 requests', 1],
  ['errors', 'errors', 0],
];

export type Figures = Record<Figure, number>;
export type Medians = Map<string, Figures>;

/** Medians of each figure by system. */
export function summarize(rounds: Round[]): Medians {
  const systems = [...new Set(rounds.map(({ system }) => system))];
  return new Map(
    systems.map((system) => {
      const own = rounds.filter((round) => round.system === system);
      const figures = FIGURES.map(([figure]) => {
        if (figure === 'ratePooledP99Ms') return [figure, poolP99(own.map(({ rate }) => rate))];
        const values = own.map((round) => round[figure]);
        // Errors are summed up, since a median would hide those of one round.
        return [figure, figure === 'errors' ? values.reduce((sum, value) => sum + value, 0) : median(values)];
      });
      return [system, Object.fromEntries(figures) as Figures];
    }),
  );
}

export function formatTable(medians: Medians): string {
  const systems = [...medians.keys()];
  const rows = FIGURES.map(([figure, label, digits]) => [
    label,
    ...systems.map((system) => formatFigure(medians.get(system)![figure], digits)),
  ]);
  return formatRows([['', ...systems], ...rows]);
}

const formatFigure = (value: number, digits: number): string =>
  Number.isNaN(value) ? '–' : value.toFixed(digits);

/** Latencies, with the most that Berth may add to the floor's, in ms; NaN: no goal. */
const ADDED: Partial<Record<Figure, number>> = {
  singleP50Ms: 0.12,
  singleP99Ms: Number.NaN,
  manyP50Ms: Number.NaN,
  manyP99Ms: Number.NaN,
  rateP50Ms: 0.12,
  rateP99Ms: 1,
  firstFrameP50Ms: 0.25,
  firstFrameP99Ms: 2,
};

/** What Berth adds to the engine alone, and to the floor; empty if either was not measured. */
export function formatAdded(medians: Medians): string {
  const [direct, floor, berth] = ['direct', 'floor', 'berth'].map((name) => medians.get(name));
  if (!direct || !floor || !berth) return '';
  const rows = FIGURES.filter(([figure]) => figure in ADDED).map(([figure, label, digits]) => [
    label,
    formatFigure(berth[figure] - direct[figure], digits),
    formatFigure(berth[figure] - floor[figure], digits),
    formatFigure(ADDED[figure]!, digits),
  ]);
  return formatRows([['added by berth', 'over direct', 'over floor', 'reach over floor'], ...rows]);
}

export interface Goal {
  label: string;
  value: number;
  limit: number;
  isAtLeast: boolean;
}

export const atLeast = (label: string, value: number, limit: number): Goal => ({
  label,
  value,
  limit,
  isAtLeast: true,
});
export const atMost = (label: string, value: number, limit: number): Goal => ({
  label,
  value,
  limit,
  isAtLeast: false,
});

/** Berth against the baselines, with the goal of each. */
export function listGoals(medians: Medians): Goal[] {
  const berth = medians.get('berth');
  const floor = medians.get('floor');
  if (!berth || !floor) return [];
  const over = (name: string, measure: (other: Figures) => Goal): Goal[] => {
    const other = medians.get(name);
    return other ? [measure(other)] : [];
  };
  const cpuOver = (name: string, limit: number): Goal[] =>
    over(name, (other) =>
      atMost(`CPU per request ÷ ${name}`, berth.cpuPerRequestMicros / other.cpuPerRequestMicros, limit),
    );
  const frameCPUOver = (name: string, limit: number): Goal[] =>
    over(name, (other) =>
      atMost(`CPU per frame ÷ ${name}`, berth.cpuPerFrameMicros / other.cpuPerFrameMicros, limit),
    );
  const addedGoals = FIGURES.flatMap(([figure, label]) => {
    const limit = ADDED[figure] ?? Number.NaN;
    return Number.isNaN(limit) ? [] : [atMost(`over floor: ${label}`, berth[figure] - floor[figure], limit)];
  });
  return [
    ...cpuOver('base', 0.5),
    ...cpuOver('floor', 1.25),
    ...cpuOver('vllm-router', 1),
    ...cpuOver('sglang-router', 0.8),
    ...cpuOver('smg', 1),
    ...cpuOver('tensorzero', 0.67),
    ...frameCPUOver('floor', 1),
    ...frameCPUOver('vllm-router', 1),
    atLeast('requests/s ÷ floor', berth.requestsPerSecond / floor.requestsPerSecond, 0.75),
    ...over('sglang-router', (other) =>
      atLeast('requests/s ÷ sglang-router', berth.requestsPerSecond / other.requestsPerSecond, 1),
    ),
    ...over('portkey', (other) =>
      atLeast('requests/s ÷ portkey', berth.requestsPerSecond / other.requestsPerSecond, 12),
    ),
    ...addedGoals,
    atMost('p99 at 1,000/s ÷ floor, all rounds', berth.ratePooledP99Ms / floor.ratePooledP99Ms, 1.1),
    atLeast('engine freed, of 40', berth.freedMidStream + berth.freedEarly, 40),
    atMost('ready after start, ms', berth.readyMs, 250),
    atMost('memory idle, MiB', berth.idleMiB, 80),
    atMost('memory at most, MiB', berth.peakMiB, 150),
    ...over('base', (other) => atMost('memory at most ÷ base', berth.peakMiB / other.peakMiB, 0.7)),
    atMost('errors', berth.errors, 0),
  ];
}

export const isReached = ({ value, limit, isAtLeast }: Goal): boolean =>
  isAtLeast ? value >= limit : value <= limit;

export function formatGoals(goals: Goal[]): string {
  const rows = goals.map((goal) => [
    goal.label,
    goal.value.toFixed(2),
    `${goal.isAtLeast ? '≥' : '≤'} ${goal.limit}`,
    isReached(goal) ? 'reached' : 'not reached',
  ]);
  return formatRows([['Berth', 'measured', 'reach', ''], ...rows]);
}

export function formatRows(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('  '),
    )
    .join('\n');
}
