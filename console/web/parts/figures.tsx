/** Numbers side by side, each with what it is and what is to be known of it. */
import type { Figure } from './figure.ts';
import { Sparkline } from './sparkline.tsx';

export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ label, value, more, course }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
          {more && <dd>{more}</dd>}
          {course && <Sparkline values={course} />}
        </div>
      ))}
    </dl>
  );
}
