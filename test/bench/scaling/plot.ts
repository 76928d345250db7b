/** Draws runs of autoscalers below each other: demand, replicas, and who waits. */
import type { Point } from '../../support/scaling/simulation.ts';

const [WIDTH, HEIGHT, LEFT, TOP] = [1_100, 170, 60, 40];

export interface PlottedRun {
  name: string;
  points: readonly Point[];
}

/** `slots`: of a replica, so that demand and replicas share a scale. */
export function plotRuns(runs: readonly PlottedRun[], slots: number): string {
  const duration = Math.max(...runs.map(({ points }) => points.at(-1)?.at ?? 0));
  const most = runs
    .flatMap(({ points }) => points)
    .reduce((high, { wanted, demand }) => Math.max(high, wanted, Math.min(demand / slots, 12)), 1);
  const height = TOP + runs.length * (HEIGHT + TOP);
  const body = runs.map(({ name, points }, index) => {
    const top = TOP + index * (HEIGHT + TOP);
    const line = (color: string, value: (point: Point) => number, isStep = false) => {
      const path = thin(points)
        .map((point, at) => {
          const x = LEFT + (point.at / duration) * (WIDTH - LEFT - 10);
          const y = top + HEIGHT - (Math.min(value(point), most) / most) * HEIGHT;
          return at === 0
            ? `M${x.toFixed(1)} ${y.toFixed(1)}`
            : isStep
              ? `H${x.toFixed(1)}V${y.toFixed(1)}`
              : `L${x.toFixed(1)} ${y.toFixed(1)}`;
        })
        .join('');
      return `<path d="${path}" fill="none" stroke="${color}" stroke-width="1"/>`;
    };
    return [
      `<text x="${LEFT}" y="${top - 8}" font-weight="bold">${name}</text>`,
      `<rect x="${LEFT}" y="${top}" width="${WIDTH - LEFT - 10}" height="${HEIGHT}" fill="none" stroke="#ccc"/>`,
      `<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end">${most.toFixed(0)}</text>`,
      `<text x="${LEFT - 6}" y="${top + HEIGHT}" text-anchor="end">0</text>`,
      line('#999', ({ demand }) => demand / slots),
      line('#d33', ({ waiting }) => waiting / slots),
      line('#8ac', ({ wanted }) => wanted, true),
      line('#06c', ({ ready }) => ready, true),
    ].join('\n');
  });
  const legend = `<text x="${LEFT}" y="16">replicas: <tspan fill="#06c">ready</tspan>, <tspan fill="#8ac">wanted</tspan>; in replicas of ${slots} slots: <tspan fill="#999">demand</tspan>, <tspan fill="#d33">waiting</tspan>; ${(duration / 3_600_000).toFixed(1)} h</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n${legend}\n${body.join('\n')}\n</svg>\n`;
}

const MAX_POINTS = 2_000;
const thin = (points: readonly Point[]): Point[] => {
  const every = Math.max(1, Math.ceil(points.length / MAX_POINTS));
  return points.filter((_, index) => index % every === 0);
};
