/** How far a request is. */
import { Group, Progress, Stack, Text } from '@mantine/core';
import type { RequestView } from '../../api.ts';
import { StateBadge } from '../parts/state-badge.tsx';

export function RequestProgress({ request }: { request: Pick<RequestView, 'status' | 'progress' | 'id'> }) {
  const { status, progress, id } = request;
  return (
    <Stack gap={4}>
      <Group gap="xs" wrap="nowrap">
        <StateBadge state={status} />
        {status === 'running' && <Text size="xs">{progress} %</Text>}
      </Group>
      {status === 'running' && <Progress value={progress} size="sm" aria-label={`Progress of ${id}`} />}
    </Stack>
  );
}
