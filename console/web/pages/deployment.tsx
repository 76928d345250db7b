/** One deployment: how to call it, what it does, and how to operate it. */
import '../theme/later-styles.ts';
import { Anchor, Stack, Tabs } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { usePollInterval } from '../client/live.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { DeploymentActions } from '../deployment/actions.tsx';
import { Conditions } from '../deployment/conditions.tsx';
import { Connect } from '../deployment/connect.tsx';
import { Events } from '../deployment/events.tsx';
import { EngineAndPrices, KindAndModel, ReplicasAndQueue, StatusMessage } from '../deployment/facts.tsx';
import { History } from '../deployment/history.tsx';
import { LoadTab } from '../deployment/load-tab.tsx';
import { Logs } from '../deployment/logs.tsx';
import { Replicas } from '../deployment/replicas.tsx';
import { Scaling } from '../deployment/scaling.tsx';
import { ScalingTab } from '../deployment/scaling-tab.tsx';
import { Startup } from '../deployment/startup.tsx';
import { Traffic } from '../deployment/traffic.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { PageLoader } from '../parts/page-states.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { Playground } from '../playground/playground.tsx';

// The parser of YAML is large.
const Manifest = lazy(async () => ({ default: (await import('../deployment/manifest.tsx')).Manifest }));

const TABS = [
  'connect',
  'playground',
  'replicas',
  'logs',
  'events',
  'load',
  'scaling',
  'conditions',
  'history',
  'yaml',
];

const QUEUE_INTERVAL_MS = 5_000;

export function DeploymentPage() {
  const namespace = useNamespace();
  const { name = '' } = useParams();
  const pollInterval = usePollInterval('deployments');
  const query = useRead(
    routes.readDeployment,
    { name },
    {
      // Queues are not watched.
      refetchInterval: ({ state }) => (state.data?.queue ? QUEUE_INTERVAL_MS : pollInterval),
    },
  );
  return (
    <Page
      title={name}
      about={
        <Anchor component={Link} to={`/${namespace}/deployments`} size="sm">
          All deployments
        </Anchor>
      }
      actions={query.data && <DeploymentActions deployment={query.data} />}
    >
      <Loaded query={query}>{(deployment) => <Deployment deployment={deployment} />}</Loaded>
    </Page>
  );
}

function Deployment({ deployment }: { deployment: DeploymentView }) {
  const { name, state, message, createdAt, conditions } = deployment;
  const [search, setSearch] = useSearchParams();
  const chosen = search.get('tab') ?? '';
  const { readUsage = false, readHistory = false } = useAccess();
  const isScaled = deployment.scaling !== null && readUsage;
  const hidden: (string | false)[] = [
    !readUsage && 'load',
    !isScaled && 'scaling',
    !readHistory && 'history',
  ];
  const tab = TABS.includes(chosen) && !hidden.includes(chosen) ? chosen : 'connect';
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
      <Stack gap={2}>
        <ReplicasAndQueue deployment={deployment}>
          {' · created '}
          <Timestamp at={createdAt} />
        </ReplicasAndQueue>
        <Scaling deployment={deployment} />
        <EngineAndPrices deployment={deployment} />
      </Stack>
      <Startup deployment={deployment} />
      <Traffic deployment={deployment} />
      {/* Hidden with CSS only: unmounting would abort a response that is being streamed. */}
      <Tabs value={tab} onChange={choose} keepMounted={false} keepMountedMode="display-none">
        <Tabs.List aria-label="About this deployment">
          <Tabs.Tab value="connect">Connect</Tabs.Tab>
          <Tabs.Tab value="playground">Playground</Tabs.Tab>
          <Tabs.Tab value="replicas">Replicas</Tabs.Tab>
          <Tabs.Tab value="logs">Logs</Tabs.Tab>
          <Tabs.Tab value="events">Events</Tabs.Tab>
          {readUsage && <Tabs.Tab value="load">Load</Tabs.Tab>}
          {isScaled && <Tabs.Tab value="scaling">Scaling</Tabs.Tab>}
          <Tabs.Tab value="conditions">Conditions</Tabs.Tab>
          {readHistory && <Tabs.Tab value="history">History</Tabs.Tab>}
          <Tabs.Tab value="yaml">YAML</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="connect" pt="md">
          <Connect deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="playground" pt="md" keepMounted={wasTrying}>
          <Playground deployment={deployment} isShown={isTrying} />
        </Tabs.Panel>
        <Tabs.Panel value="replicas" pt="md">
          <Replicas deployment={deployment} />
        </Tabs.Panel>
        <Tabs.Panel value="logs" pt="md">
          <Logs deployment={name} />
        </Tabs.Panel>
        <Tabs.Panel value="events" pt="md">
          <Events deployment={name} />
        </Tabs.Panel>
        {readUsage && (
          <Tabs.Panel value="load" pt="md">
            <LoadTab name={name} kind={deployment.kind} />
          </Tabs.Panel>
        )}
        {isScaled && (
          <Tabs.Panel value="scaling" pt="md">
            <ScalingTab name={name} />
          </Tabs.Panel>
        )}
        <Tabs.Panel value="conditions" pt="md">
          <Conditions conditions={conditions} />
        </Tabs.Panel>
        {readHistory && (
          <Tabs.Panel value="history" pt="md">
            <History deployment={deployment} />
          </Tabs.Panel>
        )}
        <Tabs.Panel value="yaml" pt="md">
          <Suspense fallback={<PageLoader />}>
            <Manifest deployment={name} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
