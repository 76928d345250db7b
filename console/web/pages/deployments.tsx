/** All deployments of the namespace: which serve, and what is in the way of the others. */
import { Anchor, Badge, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../call.ts';
import { FirstDeployment } from '../deployment/first-deployment.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { useBase } from '../session.ts';

export function DeploymentsPage() {
  const base = useBase();
  const query = useQuery({
    queryKey: [base, 'deployments'],
    queryFn: ({ signal }) => call<DeploymentView[]>('GET', `${base}/deployments`, undefined, signal),
  });
  return (
    <Page title="Deployments" about="Each serves one model at an OpenAI-compatible address of its own.">
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
  const { name, kind, modelId, baseURL, state, message, replicas, queue } = deployment;
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
        <Group gap="xs">
          <Badge variant="default" tt="none">
            {kind}
          </Badge>
          <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
            {modelId}
          </Text>
        </Group>
        {message && <InTheWay message={message} />}
        <Text size="sm" c="dimmed">
          {replicas.ready} of {replicas.wanted} {replicas.wanted === 1 ? 'replica' : 'replicas'} ready
          {queue && ` · ${queue.waiting} waiting, ${queue.running} running`}
        </Text>
        {baseURL && <Copyable text={baseURL} label={`base URL of ${name}`} />}
      </Stack>
    </Card>
  );
}

/** What keeps a deployment from serving. */
export function InTheWay({ message }: { message: string }) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <IconAlertCircle size={18} aria-hidden style={{ flex: 'none', marginTop: 2 }} />
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {message}
      </Text>
    </Group>
  );
}
