/** A state as text and color, never by color alone. */
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
  retrying: 'yellow',
  'limit reached': 'yellow',
  unhealthy: 'red',
  failing: 'red',
  failed: 'red',
  refused: 'red',
  'auto-disabled': 'red',
};

export function StateBadge({ state }: { state: string }) {
  return (
    // The border keeps it visible on hovered rows, which have the same background.
    <Badge
      color={COLOURS[state] ?? 'gray'}
      variant="light"
      tt="none"
      miw="max-content"
      style={{ borderColor: 'color-mix(in srgb, currentColor 30%, transparent)' }}
    >
      {state}
    </Badge>
  );
}
