/** All deployments of the namespace with their status and their traffic. */
import { Button } from '@mantine/core';
import { Link } from 'react-router';
import { routes } from '../../routes.ts';
import { usePollInterval } from '../client/live.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { DeploymentTable } from '../deployment/deployment-table.tsx';
import { FirstDeployment } from '../deployment/first-deployment.tsx';
import { Loaded, Page } from '../parts/page.tsx';

const QUEUE_INTERVAL_MS = 5_000;
const TRAFFIC_INTERVAL_MS = 30_000;

export function DeploymentsPage() {
  const namespace = useNamespace();
  const pollInterval = usePollInterval('deployments');
  const query = useRead(
    routes.listDeployments,
    {},
    {
      // Queues are not watched.
      refetchInterval: ({ state }) =>
        state.data?.some(({ queue }) => queue) ? QUEUE_INTERVAL_MS : pollInterval,
    },
  );
  const { readUsage = false } = useAccess();
  const { data: traffic } = useRead(
    routes.listTraffic,
    {},
    { enabled: readUsage, refetchInterval: TRAFFIC_INTERVAL_MS },
  );
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
