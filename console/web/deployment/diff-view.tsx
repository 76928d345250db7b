/** Shows what a change of a text adds and removes, also without colors. */
import { Code } from '@mantine/core';
import type { CSSProperties } from 'react';
import { type DiffLine, diffLines } from './diff.ts';

const MARKS: Record<DiffLine['kind'], string> = { same: '  ', removed: '- ', added: '+ ', skipped: '  ' };
const COLORS: Partial<Record<DiffLine['kind'], string>> = { removed: 'red', added: 'green' };

export function DiffView({ before, after }: { before: string; after: string }) {
  const lines = diffLines(before, after);
  return (
    <Code
      block
      component="pre"
      role="region"
      aria-label="Changes"
      tabIndex={0}
      mah="50vh"
      style={{ overflow: 'auto' }}
    >
      {lines.map(({ kind, text }, index) => (
        <span
          // The lines of one comparison never change.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          key={index}
          style={styleOf(COLORS[kind])}
        >
          {MARKS[kind] + text}
          {COLORS[kind] ? '' : '\n'}
        </span>
      ))}
    </Code>
  );
}

const styleOf = (color: string | undefined): CSSProperties | undefined =>
  color === undefined
    ? undefined
    : {
        display: 'block',
        color: `var(--mantine-color-${color}-light-color)`,
        background: `var(--mantine-color-${color}-light)`,
      };
