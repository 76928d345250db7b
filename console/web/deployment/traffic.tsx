/** How a deployment served in the last hour. */
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { UsageView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { Figures } from '../parts/figures.tsx';
import { describeTraffic, type Served } from './traffic-figures.ts';

const RANGE = '1h';
const INTERVAL_MS = 15_000;

export function Traffic({ deployment }: { deployment: Served }) {
  const base = useBase();
  const namespace = useNamespace();
  const { readUsage = false } = useAccess();
  const wanted = new URLSearchParams({ deployment: deployment.name, range: RANGE });
  const { data } = useQuery({
    queryKey: [base, 'usage', { deployment: deployment.name, range: RANGE }],
    queryFn: ({ signal }) => call<UsageView>('GET', `${base}/usage?${wanted}`, undefined, signal),
    enabled: readUsage,
    refetchInterval: INTERVAL_MS,
  });
  if (!data) return null;
  return (
    <section aria-label="Last hour">
      <Figures figures={describeTraffic(data, deployment)} />
      <Text size="xs" c="dimmed" mt={4}>
        Last hour, by minute ·{' '}
        <Anchor component={Link} to={`/${namespace}/usage?${wanted}`} inherit underline="always">
          Usage
        </Anchor>
      </Text>
    </section>
  );
}
