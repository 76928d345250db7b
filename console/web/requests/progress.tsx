/** The status and progress of a request. */
import { Group, Progress, Stack, Text } from '@mantine/core';
import type { QueuePlaceView, RequestView } from '../../api.ts';
import { StateBadge } from '../parts/state-badge.tsx';
import { describePlace } from './queue-place.ts';

interface RequestProgressProps {
  /** `progress` null: unknown. `place`: absent where there is no room. */
  request: Pick<RequestView, 'status' | 'id'> & { progress: number | null; place?: QueuePlaceView | null };
}

export function RequestProgress({ request }: RequestProgressProps) {
  const { status, progress, id, place } = request;
  const percent = status === 'running' ? progress : null;
  return (
    <Stack gap={4}>
      <Group gap="xs" wrap="nowrap">
        <StateBadge state={status} />
        {percent !== null && <Text size="xs">{percent}%</Text>}
      </Group>
      {status === 'queued' && place && <Text size="sm">{describePlace(place)}</Text>}
      {percent !== null && <Progress value={percent} size="sm" aria-label={`Progress of ${id}`} />}
    </Stack>
  );
}
