/** A state as a word and a colour, never by colour alone. */
import { Badge } from '@mantine/core';

const COLOURS: Record<string, string> = {
  ready: 'green',
  active: 'green',
  verified: 'green',
  succeeded: 'green',
  delivered: 'green',
  running: 'blue',
  starting: 'blue',
  pending: 'blue',
  queued: 'gray',
  degraded: 'yellow',
  failing: 'red',
  failed: 'red',
  refused: 'red',
  'auto-disabled': 'red',
};

export function StateBadge({ state }: { state: string }) {
  return (
    <Badge color={COLOURS[state] ?? 'gray'} variant="light" tt="none" miw="max-content">
      {state}
    </Badge>
  );
}
