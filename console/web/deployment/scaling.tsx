/** Why a deployment that is scaled has as many replicas as it has, and when that last changed. */
import { Text } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';
import { spellDuration } from '../parts/time-format.ts';
import { Timestamp } from '../parts/timestamp.tsx';
import { countOf } from '../usage/totals.ts';

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
      `needs ${countOf(needed, 'replica')}${isShort ? `, but the cluster has room for ${replicas.wanted}` : ''}`,
    reason,
    loadTime && `startup takes ${spellDuration(loadTime)}`,
  ];
  return (
    <Text size="sm" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      {facts.filter(Boolean).join(' · ')}
      {lastChange && (
        <>
          {' · '}
          scaled from {lastChange.from} to {countOf(lastChange.to, 'replica')}{' '}
          <Timestamp at={lastChange.at} />
          {lastChange.reason !== reason && `: ${lastChange.reason}`}
        </>
      )}
    </Text>
  );
}
