/** Draws runs of autoscalers below each other: demand, replicas, and waiting requests. */
import type { Point } from '../../support/scaling/simulation.ts';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP] = [1_100, 150, 60, 20, 40];
const INNER = WIDTH - LEFT - RIGHT;
const HOUR_MS = 3_600_000;
const HOURS_PER_TICK = 3;
/** Replicas; higher values are cut off. */
const MAX_SHOWN = 14;
/** One for every two pixels. */
const BUCKETS = INNER / 2;

export interface PlottedRun {
  name: string;
  points: readonly Point[];
}

interface Scale {
  durationMs: number;
  most: number;
}

/** `slots`: of a replica, so that demand and replicas share a scale. */
export function plotRuns(runs: readonly PlottedRun[], slots: number): string {
  const durationMs = Math.max(...runs.map(({ points }) => points.at(-1)?.at ?? 0));
  const points = runs.flatMap(({ points: own }) => own);
  const highest = points.reduce((high, { wanted, demand }) => Math.max(high, wanted, demand / slots), 1);
  const most = Math.ceil(Math.min(MAX_SHOWN, highest));
  const height = TOP + runs.length * (HEIGHT + TOP) + 20;
  const body = runs.map((run, index) =>
    plotRun(run, { top: 2 * TOP + index * (HEIGHT + TOP) - 10, slots, scale: { durationMs, most } }),
  );
  const legend = `<text x="${LEFT}" y="20">replicas: <tspan fill="#06c">ready</tspan>, <tspan fill="#8ac">wanted</tspan>; in replicas of ${slots} slots: <tspan fill="#777">demand</tspan>, <tspan fill="#d33">waiting</tspan> (the most of each three minutes, cut off at ${most}); hours</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12"><title>Replicas, demand and waiting under Berth, Knative, an HPA and a clairvoyant</title>\n<rect width="100%" height="100%" fill="#fff"/>\n${legend}\n${body.join('\n')}\n</svg>\n`;
}

function plotRun(
  { name, points }: PlottedRun,
  { top, slots, scale }: { top: number; slots: number; scale: Scale },
): string {
  const xOf = (at: number) => (LEFT + (at / scale.durationMs) * INNER).toFixed(1);
  const yOf = (value: number) =>
    (top + HEIGHT - (Math.min(value, scale.most) / scale.most) * HEIGHT).toFixed(1);
  const path = (color: string, data: string) =>
    `<path d="${data}" fill="none" stroke="${color}" stroke-width="1"/>`;
  const curve = (color: string, measure: (point: Point) => number) =>
    path(
      color,
      `M${findHighest(points, scale, measure)
        .map(([at, value]) => `${xOf(at)} ${yOf(value)}`)
        .join('L')}`,
    );
  const steps = (color: string, measure: (point: Point) => number) => {
    const changes = points.filter(
      (point, index) => index === 0 || measure(point) !== measure(points[index - 1]!),
    );
    const data = changes.map((point) => `H${xOf(point.at)}V${yOf(measure(point))}`).join('');
    return path(color, `M${LEFT} ${yOf(0)}${data}H${LEFT + INNER}`);
  };
  return [
    `<text x="${LEFT}" y="${top - 8}" font-weight="bold">${name}</text>`,
    `<rect x="${LEFT}" y="${top}" width="${INNER}" height="${HEIGHT}" fill="none" stroke="#ccc"/>`,
    `<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end">${scale.most}</text>`,
    `<text x="${LEFT - 6}" y="${top + HEIGHT}" text-anchor="end">0</text>`,
    ...listHours(scale.durationMs).map(
      (hour) =>
        `<text x="${xOf(hour * HOUR_MS)}" y="${top + HEIGHT + 14}" text-anchor="middle">${hour}</text>`,
    ),
    curve('#777', ({ demand }) => demand / slots),
    steps('#8ac', ({ wanted }) => wanted),
    steps('#06c', ({ ready }) => ready),
    curve('#d33', ({ waiting }) => waiting / slots),
  ].join('\n');
}

function listHours(durationMs: number): number[] {
  const count = Math.floor(durationMs / HOUR_MS / HOURS_PER_TICK + 0.01);
  return Array.from({ length: count + 1 }, (_, index) => index * HOURS_PER_TICK);
}

/** The highest value of each interval, so that no wait is hidden. */
function findHighest(
  points: readonly Point[],
  { durationMs }: Scale,
  measure: (point: Point) => number,
): [at: number, value: number][] {
  const buckets = new Map<number, number>();
  for (const point of points) {
    const bucket = Math.floor((point.at / durationMs) * BUCKETS);
    buckets.set(bucket, Math.max(buckets.get(bucket) ?? 0, measure(point)));
  }
  return [...buckets].map(([bucket, value]) => [(bucket / BUCKETS) * durationMs, value]);
}
