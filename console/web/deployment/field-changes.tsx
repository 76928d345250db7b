/** The fields that a change of a spec sets and removes, also without colors. */
import { Code, Stack, Text } from '@mantine/core';
import type { HistoryView } from '../../api.ts';

type Difference = HistoryView['revisions'][number]['rollback'];

/** `max`: of the fields that are listed. */
export function FieldChanges({ difference, max }: { difference: Difference; max?: number }) {
  const { changes, more } = difference;
  const shown = changes.slice(0, max);
  const left = more + changes.length - shown.length;
  return (
    <Stack component="ul" gap={4} className="plain-list" style={{ overflowWrap: 'anywhere' }}>
      {shown.map(({ field, before, after }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: Long names are cut and then may be the same; the list has no state.
        <li key={index}>
          <Text size="sm" component="span" fw={500}>
            {field}
          </Text>{' '}
          <Value text={before} />
          {' → '}
          <Value text={after} />
        </li>
      ))}
      {left > 0 && <li>{`and ${left} more ${left === 1 ? 'field' : 'fields'}`}</li>}
    </Stack>
  );
}

function Value({ text }: { text: string | null }) {
  if (text === null)
    return (
      <Text size="sm" component="span" c="dimmed">
        not set
      </Text>
    );
  return <Code>{text}</Code>;
}
