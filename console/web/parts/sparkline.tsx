/** A sparkline of a number; a text beside it has the same information. */
import { findRuns, HEIGHT, WIDTH } from './sparkline-path.ts';

/** null: nothing was measured, which is a gap. */
export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const runs = findRuns(values);
  return (
    <svg className="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden>
      {runs.map((run) => {
        const [first, last] = [run[0]!, run.at(-1)!];
        const line = run.map(({ x, y }) => `${x} ${y}`).join('L');
        return (
          <g key={first.x}>
            <path className="area" d={`M${first.x} ${HEIGHT}L${line}L${last.x} ${HEIGHT}Z`} />
            <path d={`M${line}`} />
          </g>
        );
      })}
    </svg>
  );
}
