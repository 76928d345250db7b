/** The places of a sparkline's values. Pure. */
export const WIDTH = 100;
export const HEIGHT = 28;
/** Margin around the line, so that a peak is not cut off. */
const MARGIN = 2;

interface Place {
  x: number;
  y: number;
}

/** What was measured without a gap; a lone value is as wide as a step, so that it can be seen. */
export function findRuns(values: readonly (number | null)[]): Place[][] {
  const most = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  const step = WIDTH / Math.max(1, values.length);
  const runs: Place[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const y = Number((HEIGHT - MARGIN - (value / most) * (HEIGHT - 2 * MARGIN)).toFixed(2));
    const place = (share: number): Place => ({ x: Number(((index + share) * step).toFixed(2)), y });
    const isAfterGap = index === 0 || values[index - 1] === null;
    if (isAfterGap) runs.push([place(0)]);
    runs.at(-1)!.push(...(isAfterGap ? [place(1)] : [place(0.5), place(1)]));
  }
  return runs;
}
