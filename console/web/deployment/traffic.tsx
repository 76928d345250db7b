/** What a deployment serves now, and how it served in the last hour. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { routes } from '../../routes.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { Figures } from '../parts/figures.tsx';
import { describeLoad, describeTraffic, type Served } from './traffic-figures.ts';

const RANGE = '1h';
const INTERVAL_MS = 15_000;
const LOAD_INTERVAL_MS = 5_000;

export function Traffic({ deployment }: { deployment: Served }) {
  const namespace = useNamespace();
  const { readUsage = false, readRequests = false } = useAccess();
  const wanted = { deployment: deployment.name, range: RANGE };
  const { data } = useRead(routes.readUsage, wanted, { enabled: readUsage, refetchInterval: INTERVAL_MS });
  const load = useRead(
    routes.readLoad,
    { name: deployment.name },
    { enabled: readUsage, refetchInterval: LOAD_INTERVAL_MS },
  );
  return (
    <>
      {load.data && (
        <section aria-label="Now">
          <Figures figures={[describeLoad(load.data)]} />
        </section>
      )}
      {data && (
        <section aria-label="Last hour">
          <Figures figures={describeTraffic(data, deployment)} />
          <Text size="xs" c="dimmed" mt={4}>
            Last hour, by minute ·{' '}
            <Anchor
              component={Link}
              to={`/${namespace}/usage?${new URLSearchParams(wanted)}`}
              inherit
              underline="always"
            >
              Usage
            </Anchor>
            {readRequests && (
              <>
                {' · '}
                <Anchor
                  component={Link}
                  to={`/${namespace}/requests?view=all&sort=-duration&deployment=${deployment.name}`}
                  inherit
                  underline="always"
                >
                  Latest requests, slowest first
                </Anchor>
              </>
            )}
          </Text>
        </section>
      )}
    </>
  );
}
