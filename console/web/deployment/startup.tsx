/** The stages of a start, while a replica starts. */
import { Text } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';
import { Moment } from '../parts/moment.tsx';

export function Startup({ deployment: { startup } }: { deployment: Pick<DeploymentView, 'startup'> }) {
  if (!startup?.current) return null;
  const { stages, current, expected } = startup;
  return (
    <Text size="sm" c="dimmed" component="div">
      Starting: {stages.map(({ stage, took }) => `${stage} after ${took} · `)}
      waiting for {current.stage} since <Moment at={current.since} />
      {expected && ` · likely to take ${expected} in all`}
    </Text>
  );
}
