/** How a replica starts, or how the last one did: its stages in order, each with its time. */
import { Text } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';
import { spellDuration } from '../parts/time-format.ts';
import { Timestamp } from '../parts/timestamp.tsx';

type Started = Pick<DeploymentView, 'startup'>;

/** Only while a replica starts. */
export function Startup({ deployment: { startup } }: { deployment: Started }) {
  return startup?.current ? <StartupStages startup={startup} /> : null;
}

export function StartupStages({ startup }: { startup: NonNullable<DeploymentView['startup']> }) {
  const { stages, current, took, expected } = startup;
  return (
    <section aria-label={current ? 'Replica startup' : 'Last replica startup'}>
      <ol className="stages">
        {stages.map(({ stage, took }) => (
          <li key={stage} data-done>
            <span>{stage}</span> <span className="dimmed">after {spellDuration(took)}</span>
          </li>
        ))}
        {current && (
          <li aria-current="step">
            <span>{current.stage}</span>{' '}
            <span className="dimmed">
              in progress, started <Timestamp at={current.since} />
            </span>
          </li>
        )}
      </ol>
      <Text size="xs" c="dimmed" mt={4}>
        {current
          ? expected && `Expected total: ${spellDuration(expected)}.`
          : took && `Total: ${spellDuration(took)}.`}
      </Text>
    </section>
  );
}
