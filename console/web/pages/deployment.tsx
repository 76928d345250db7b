/** One deployment: how to reach it, a place to try it, what the operator says of it. */
import { Anchor, Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useBase, useNamespace } from '../client/session.ts';
import { Conditions } from '../deployment/conditions.tsx';
import { Connect } from '../deployment/connect.tsx';
import { InTheWay, KindAndModel, ReplicasAndQueue } from '../deployment/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Playground } from '../playground/playground.tsx';

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
  const { state, message, createdAt, conditions } = deployment;
  const [search, setSearch] = useSearchParams();
  const chosen = search.get('tab') ?? '';
  const tab = TABS.includes(chosen) ? chosen : 'connect';
  const isTrying = tab === 'playground';
  // What was tried there outlasts a glance at another tab.
  const [wasTrying, setWasTrying] = useState(isTrying);
  if (isTrying && !wasTrying) setWasTrying(true);
  const choose = (tab: string | null) => setSearch({ tab: tab ?? '' });
  return (
    <Stack>
      <KindAndModel deployment={deployment}>
        <StateBadge state={state} />
      </KindAndModel>
      {message && <InTheWay message={message} />}
      <ReplicasAndQueue deployment={deployment}>
        {' · created '}
        <Moment at={createdAt} />
      </ReplicasAndQueue>
      {/* Hidden by style alone: whatever else hides it would break off an answer that is being written. */}
      <Tabs value={tab} onChange={choose} keepMounted={false} keepMountedMode="display-none">
        <Tabs.List aria-label="About this deployment">
          <Tabs.Tab value="connect">Connect</Tabs.Tab>
          <Tabs.Tab value="playground">Playground</Tabs.Tab>
          <Tabs.Tab value="conditions">Conditions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="connect" pt="md">
          <Connect deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="playground" pt="md" keepMounted={wasTrying}>
          <Playground deployment={deployment} isShown={isTrying} />
        </Tabs.Panel>
        <Tabs.Panel value="conditions" pt="md">
          <Conditions conditions={conditions} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
