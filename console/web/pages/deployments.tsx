/** All deployments of the namespace with their status and their traffic. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { DeploymentView, TrafficView } from '../../api.ts';
import { call } from '../client/call.ts';
import { usePollInterval } from '../client/live.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { DeploymentTable } from '../deployment/deployment-table.tsx';
import { FirstDeployment } from '../deployment/first-deployment.tsx';
import { Loaded, Page } from '../parts/page.tsx';

const QUEUE_INTERVAL_MS = 5_000;
const TRAFFIC_INTERVAL_MS = 30_000;

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
  const { readUsage = false } = useAccess();
  const { data: traffic } = useQuery({
    queryKey: [base, 'usage', 'deployments'],
    queryFn: ({ signal }) => call<TrafficView[]>('GET', `${base}/usage/deployments`, undefined, signal),
    enabled: readUsage,
    refetchInterval: TRAFFIC_INTERVAL_MS,
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
            <DeploymentTable deployments={deployments} traffic={traffic} />
          )
        }
      </Loaded>
    </Page>
  );
}
