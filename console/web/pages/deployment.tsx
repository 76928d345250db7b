/** One deployment: connection, playground, scaling, conditions. */
import { Anchor, Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { Conditions } from '../deployment/conditions.tsx';
import { Connect } from '../deployment/connect.tsx';
import { EngineAndPrices, KindAndModel, ReplicasAndQueue, StatusMessage } from '../deployment/facts.tsx';
import { Scaling } from '../deployment/scaling.tsx';
import { ScalingTab } from '../deployment/scaling-tab.tsx';
import { Startup } from '../deployment/startup.tsx';
import { Moment } from '../parts/moment.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Playground } from '../playground/playground.tsx';

const TABS = ['connect', 'playground', 'scaling', 'conditions'];

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
  const { readUsage } = useAccess();
  const isScaled = deployment.scaling !== null && readUsage;
  const tab = TABS.includes(chosen) && (isScaled || chosen !== 'scaling') ? chosen : 'connect';
  const isTrying = tab === 'playground';
  // Keeps the playground's state when another tab is opened.
  const [wasTrying, setWasTrying] = useState(isTrying);
  if (isTrying && !wasTrying) setWasTrying(true);
  const choose = (tab: string | null) => setSearch({ tab: tab ?? '' });
  return (
    <Stack>
      <KindAndModel deployment={deployment}>
        <StateBadge state={state} />
      </KindAndModel>
      {message && <StatusMessage message={message} />}
      <ReplicasAndQueue deployment={deployment}>
        {' · created '}
        <Moment at={createdAt} />
      </ReplicasAndQueue>
      <Scaling deployment={deployment} />
      <Startup deployment={deployment} />
      <EngineAndPrices deployment={deployment} />
      {/* Hidden with CSS only: unmounting would abort a response that is being streamed. */}
      <Tabs value={tab} onChange={choose} keepMounted={false} keepMountedMode="display-none">
        <Tabs.List aria-label="About this deployment">
          <Tabs.Tab value="connect">Connect</Tabs.Tab>
          <Tabs.Tab value="playground">Playground</Tabs.Tab>
          {isScaled && <Tabs.Tab value="scaling">Scaling</Tabs.Tab>}
          <Tabs.Tab value="conditions">Conditions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="connect" pt="md">
          <Connect deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="playground" pt="md" keepMounted={wasTrying}>
          <Playground deployment={deployment} isShown={isTrying} />
        </Tabs.Panel>
        {isScaled && (
          <Tabs.Panel value="scaling" pt="md">
            <ScalingTab name={deployment.name} />
          </Tabs.Panel>
        )}
        <Tabs.Panel value="conditions" pt="md">
          <Conditions conditions={conditions} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
