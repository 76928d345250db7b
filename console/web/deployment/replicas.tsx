/** The pods of a deployment. */
import { Anchor, Group, Stack, Table, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { DeploymentView, ReplicaView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { usePollInterval } from '../client/live.ts';
import { useRead } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { RestartReplica } from './restart.tsx';
import { StartupStages } from './startup.tsx';

const COLUMNS: readonly Column<ReplicaView>[] = [
  { by: 'replica', label: 'Replica', value: ({ name }) => name },
  { by: 'state', label: 'State', value: ({ state }) => state },
  { by: 'node', label: 'Node', value: ({ node }) => node },
  { by: 'gpu', label: 'GPU', value: ({ gpu }) => gpu },
  { by: 'restarts', label: 'Restarts', value: ({ restarts }) => restarts, isLargestFirst: true },
  { by: 'created', label: 'Created', value: ({ createdAt }) => createdAt, isLargestFirst: true },
];

const textsOf = ({ name, state, message, node, gpu }: ReplicaView) => [name, state, message, node, gpu];

export function useReplicas(deployment: string) {
  return useRead(routes.listReplicas, { name: deployment }, { refetchInterval: usePollInterval('replicas') });
}

type Operated = Pick<DeploymentView, 'name' | 'isPaused' | 'startup'>;

export function Replicas({ deployment: { name, isPaused, startup } }: { deployment: Operated }) {
  const query = useReplicas(name);
  return (
    <Loaded query={query}>
      {(replicas) =>
        replicas.length === 0 ? (
          <EmptyState title="No replicas">
            {isPaused ? 'The deployment is paused.' : 'No replicas are running or starting.'}
          </EmptyState>
        ) : (
          <Stack>
            <ReplicaTable deployment={name} replicas={replicas} />
            {startup?.took && (
              <div>
                <Title order={2} size="h4" mb="xs">
                  Last startup
                </Title>
                <StartupStages startup={startup} />
              </div>
            )}
          </Stack>
        )
      }
    </Loaded>
  );
}

function ReplicaTable({ deployment, replicas }: { deployment: string; replicas: ReplicaView[] }) {
  const list = useArrangement(replicas, { columns: COLUMNS, textsOf });
  return (
    <ArrangedTable label="Replicas" minWidth={760} list={list} rest={['Actions']}>
      {(replica) => <ReplicaRow key={replica.name} deployment={deployment} replica={replica} />}
    </ArrangedTable>
  );
}

function ReplicaRow({ deployment, replica }: { deployment: string; replica: ReplicaView }) {
  const { name, state, message, node, gpu, restarts, lastExit, createdAt } = replica;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Table.Th>
      <Table.Td maw={320}>
        <Stack gap={4} align="flex-start">
          <StateBadge state={state} />
          {message && (
            <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
              {message}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td>{node ?? 'Not scheduled yet'}</Table.Td>
      <Table.Td>{gpu ?? '–'}</Table.Td>
      <Table.Td>
        {restarts}
        {lastExit && (
          <Text size="xs" c="dimmed">
            {lastExit.reason}, exit code {lastExit.exitCode}
            {lastExit.at && (
              <>
                , <Timestamp at={lastExit.at} />
              </>
            )}
          </Text>
        )}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={createdAt} />
      </Table.Td>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          <Anchor
            component={Link}
            to={{ search: `?tab=logs&replica=${encodeURIComponent(name)}` }}
            size="sm"
            underline="always"
            aria-label={`Logs of ${name}`}
          >
            Logs
          </Anchor>
          <RestartReplica deployment={deployment} replica={replica} />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
