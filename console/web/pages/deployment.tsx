/** One deployment: how to reach it, a place to try it, what the operator says of it. */
import { Anchor, Badge, Group, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearchParams } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../call.ts';
import { Conditions } from '../deployment/conditions.tsx';
import { Connect } from '../deployment/connect.tsx';
import { Moment } from '../parts/moment.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Playground } from '../playground/playground.tsx';
import { useBase, useNamespace } from '../session.ts';
import { InTheWay } from './deployments.tsx';

const TABS = ['connect', 'playground', 'conditions'];

export function DeploymentPage() {
  const base = useBase();
  const namespace = useNamespace();
  const { name = '' } = useParams();
  const query = useQuery({
    queryKey: [base, 'deployments', name],
    queryFn: ({ signal }) =>
      call<DeploymentView>('GET', `${base}/deployments/${encodeURIComponent(name)}`, undefined, signal),
  });
  return (
    <Page
      title={name}
      about={
        <Anchor component={Link} to={`/${namespace}/deployments`} size="sm">
          All deployments
        </Anchor>
      }
    >
      <Loaded query={query}>{(deployment) => <Deployment deployment={deployment} />}</Loaded>
    </Page>
  );
}

function Deployment({ deployment }: { deployment: DeploymentView }) {
  const { kind, modelId, state, message, replicas, queue, createdAt, conditions } = deployment;
  const [search, setSearch] = useSearchParams();
  const chosen = search.get('tab') ?? '';
  const choose = (tab: string | null) => setSearch({ tab: tab ?? '' }, { replace: true });
  return (
    <Stack>
      <Group gap="xs">
        <StateBadge state={state} />
        <Badge variant="default" tt="none">
          {kind}
        </Badge>
        <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
          {modelId}
        </Text>
      </Group>
      {message && <InTheWay message={message} />}
      <Text size="sm" c="dimmed" component="div">
        {replicas.ready} of {replicas.wanted} {replicas.wanted === 1 ? 'replica' : 'replicas'} ready
        {queue && ` · ${queue.waiting} waiting, ${queue.running} running`} · made <Moment at={createdAt} />
      </Text>
      <Tabs value={TABS.includes(chosen) ? chosen : 'connect'} onChange={choose} keepMounted={false}>
        <Tabs.List aria-label="About this deployment">
          <Tabs.Tab value="connect">Connect</Tabs.Tab>
          <Tabs.Tab value="playground">Playground</Tabs.Tab>
          <Tabs.Tab value="conditions">Conditions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="connect" pt="md">
          <Connect deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="playground" pt="md">
          <Playground deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="conditions" pt="md">
          <Conditions conditions={conditions} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
