/** Why a deployment that is scaled has as many replicas as it has, and when that last changed. */
import { Text } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';
import { Timestamp } from '../parts/timestamp.tsx';

export function Scaling({
  deployment: { scaling, replicas },
}: {
  deployment: Pick<DeploymentView, 'scaling' | 'replicas'>;
}) {
  if (!scaling) return null;
  const { demand, needed, isShort, reason, loadTime, lastChange } = scaling;
  const facts = [
    `Demand ${demand}`,
    needed > replicas.wanted &&
      `needs ${needed} replicas${isShort ? `, but the cluster has room for ${replicas.wanted}` : ''}`,
    reason,
    loadTime && `startup takes ${loadTime}`,
  ];
  return (
    <Text size="sm" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      {facts.filter(Boolean).join(' · ')}
      {lastChange && (
        <>
          {' · '}
          scaled from {lastChange.from} to {lastChange.to} replicas <Timestamp at={lastChange.at} />
          {lastChange.reason !== reason && `: ${lastChange.reason}`}
        </>
      )}
    </Text>
  );
}
