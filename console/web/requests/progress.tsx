/** The status and progress of a request. */
import { Group, Progress, Stack, Text } from '@mantine/core';
import type { RequestView } from '../../api.ts';
import { StateBadge } from '../parts/state-badge.tsx';

interface RequestProgressProps {
  /** `progress` null: unknown. */
  request: Pick<RequestView, 'status' | 'id'> & { progress: number | null };
}

export function RequestProgress({ request }: RequestProgressProps) {
  const { status, progress, id } = request;
  const percent = status === 'running' ? progress : null;
  return (
    <Stack gap={4}>
      <Group gap="xs" wrap="nowrap">
        <StateBadge state={status} />
        {percent !== null && <Text size="xs">{percent}%</Text>}
      </Group>
      {percent !== null && <Progress value={percent} size="sm" aria-label={`Progress of ${id}`} />}
    </Stack>
  );
}
