/** All deployments of the namespace with their status. */
import { Anchor, Button, Card, Group, SimpleGrid, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../client/call.ts';
import { usePollInterval } from '../client/live.ts';
import { useBase, useNamespace } from '../client/session.ts';
import { KindAndModel, ReplicasAndQueue, StatusMessage } from '../deployment/facts.tsx';
import { FirstDeployment } from '../deployment/first-deployment.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { StateBadge } from '../parts/state-badge.tsx';

const QUEUE_INTERVAL_MS = 5_000;

export function DeploymentsPage() {
  const base = useBase();
  const namespace = useNamespace();
  const pollInterval = usePollInterval('deployments');
  const query = useQuery({
    queryKey: [base, 'deployments'],
    queryFn: ({ signal }) => call<DeploymentView[]>('GET', `${base}/deployments`, undefined, signal),
    // Queues are not watched.
    refetchInterval: ({ state }) =>
      state.data?.some(({ queue }) => queue) ? QUEUE_INTERVAL_MS : pollInterval,
  });
  return (
    <Page
      title="Deployments"
      about="Each deployment serves one model at its own OpenAI-compatible endpoint."
      actions={
        <Button component={Link} to={`/${namespace}/deploy`}>
          New deployment
        </Button>
      }
    >
      <Loaded query={query}>
        {(deployments) =>
          deployments.length === 0 ? (
            <FirstDeployment />
          ) : (
            <SimpleGrid cols={{ base: 1, lg: 2 }}>
              {deployments.map((deployment) => (
                <DeploymentCard key={deployment.name} deployment={deployment} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </Page>
  );
}

function DeploymentCard({ deployment }: { deployment: DeploymentView }) {
  const { name, baseURL, state, message } = deployment;
  return (
    <Card withBorder radius="md" component="article" aria-label={name}>
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
            <Anchor component={Link} to={name} inherit>
              {name}
            </Anchor>
          </Title>
          <StateBadge state={state} />
        </Group>
        <KindAndModel deployment={deployment} />
        {message && <StatusMessage message={message} />}
        <ReplicasAndQueue deployment={deployment} />
        {baseURL && <Copyable text={baseURL} label={`base URL of ${name}`} />}
      </Stack>
    </Card>
  );
}
