/** Problems that affect the whole console. */
import { Alert, Box } from '@mantine/core';
import { IconClockExclamation, IconDatabaseOff } from '@tabler/icons-react';
import { useSlowness } from './client/slowness.ts';
import { formatDateTime } from './parts/time-format.ts';

export function StatusBanner({ redisAwaySince }: { redisAwaySince: string | null }) {
  const isSlow = useSlowness();
  return (
    <Box aria-live="polite">
      {redisAwaySince !== null && (
        <Alert color="yellow" mb="md" icon={<IconDatabaseOff aria-hidden />} title="Database unreachable">
          Berth’s database has been unreachable since {formatDateTime(new Date(redisAwaySince))}. Deployments,
          keys and webhooks are read from Kubernetes; requests, deliveries, usage and queues are unavailable
          until it recovers. Retrying…
        </Alert>
      )}
      {isSlow && redisAwaySince === null && (
        <Alert color="yellow" mb="md" icon={<IconClockExclamation aria-hidden />}>
          The console is responding slowly. Still waiting…
        </Alert>
      )}
    </Box>
  );
}
