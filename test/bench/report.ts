/** Turns rounds into the table and the ratios of `make bench`. Pure. */
import type { Round } from './rounds.ts';

type Figure = Exclude<keyof Round, 'system'>;

const FIGURES: [Figure, string, number][] = [
  ['requestsPerSecond', 'requests/s on one core', 0],
  ['cpuPerRequestMicros', 'CPU µs/request', 1],
  ['cpuPerFrameMicros', 'CPU µs/SSE frame', 1],
  ['latencyP50Ms', 'latency p50 ms, 1 connection', 2],
  ['firstFrameP50Ms', 'first frame p50 ms, 100 paced streams', 2],
  ['firstFrameP99Ms', 'first frame p99 ms', 2],
  ['freedMidStream', 'engine freed in mid-stream, of 20', 0],
  ['freedEarly', 'engine freed before the first byte, of 20', 0],
  ['readyMs', 'ready after start, ms', 0],
  ['idleMiB', 'memory idle, MiB', 0],
  ['loadedMiB', 'memory after load, MiB', 0],
  ['errors', 'errors', 0],
];

export type Medians = Map<string, Record<Figure, number>>;

/** Medians of each figure by system. */
export function summarise(rounds: Round[]): Medians {
  const systems = [...new Set(rounds.map(({ system }) => system))];
  return new Map(
    systems.map((system) => {
      const own = rounds.filter((round) => round.system === system);
      const figures = FIGURES.map(([figure]) => [figure, median(own.map((round) => round[figure]))]);
      return [system, Object.fromEntries(figures) as Record<Figure, number>];
    }),
  );
}

export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

export const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

export function formatTable(medians: Medians): string {
  const systems = [...medians.keys()];
  const rows = FIGURES.map(([figure, label, digits]) => [
    label,
    ...systems.map((system) => medians.get(system)![figure].toFixed(digits)),
  ]);
  return formatRows([['', ...systems], ...rows]);
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

/** Berth against the baselines; what is to be reached beside each. */
export function listGoals(medians: Medians): Goal[] {
  const berth = medians.get('berth');
  const floor = medians.get('floor');
  if (!berth || !floor) return [];
  const portkey = medians.get('portkey');
  return [
    atLeast('requests/s ÷ floor', berth.requestsPerSecond / floor.requestsPerSecond, 0.55),
    ...(portkey
      ? [atLeast('requests/s ÷ portkey', berth.requestsPerSecond / portkey.requestsPerSecond, 12)]
      : []),
    atMost('CPU per request ÷ floor', berth.cpuPerRequestMicros / floor.cpuPerRequestMicros, 1.9),
    atMost('CPU per frame ÷ floor', berth.cpuPerFrameMicros / floor.cpuPerFrameMicros, 1.15),
    atMost('added latency p50, ms', berth.latencyP50Ms - floor.latencyP50Ms, 0.2),
    atMost('added first frame p50, ms', berth.firstFrameP50Ms - floor.firstFrameP50Ms, 0.4),
    atMost('added first frame p99, ms', berth.firstFrameP99Ms - floor.firstFrameP99Ms, 3),
    atLeast('engine freed, of 40', berth.freedMidStream + berth.freedEarly, 40),
    atMost('ready after start, ms', berth.readyMs, 300),
    atMost('memory idle, MiB', berth.idleMiB, 80),
    atMost('memory after load, MiB', berth.loadedMiB, 150),
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
