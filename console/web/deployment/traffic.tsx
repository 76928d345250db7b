/** How a deployment served in the last hour. */
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { DeploymentView, UsagePoint, UsageView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { type Figure, Figures } from '../parts/figures.tsx';
import { countErrors, formatCount, formatMs, formatShare } from '../usage/totals.ts';

const RANGE = '1h';
const INTERVAL_MS = 15_000;

type Served = Pick<DeploymentView, 'name' | 'kind' | 'queue'>;

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

/** Those that the kind has. */
export function describeTraffic(
  { total, points, stepSeconds }: UsageView,
  { kind, queue }: Served,
): Figure[] {
  const trace = (read: (point: UsagePoint) => number | null) => points.map(read);
  const errors = countErrors(total);
  const perSecond = ({ outputTokens }: UsagePoint) => outputTokens / stepSeconds;
  const figures: Figure[] = [
    { label: 'Requests', value: formatCount(total.requests), course: trace(({ requests }) => requests) },
    {
      label: 'Errors',
      value: formatCount(errors),
      more: total.requests > 0 ? formatShare(errors, total.requests) : '–',
      course: trace(countErrors),
    },
    {
      label: 'Latency, p95',
      value: formatMs(total.p95Ms),
      more: `p50 ${formatMs(total.p50Ms)}`,
      course: trace(({ p95Ms }) => p95Ms),
    },
  ];
  if (kind === 'LLM')
    figures.push(
      {
        label: 'First token, p95',
        value: formatMs(total.firstTokenP95Ms),
        more: total.firstTokenP95Ms === null ? 'no streams' : `p50 ${formatMs(total.firstTokenP50Ms)}`,
        course: trace(({ firstTokenP95Ms }) => firstTokenP95Ms),
      },
      {
        label: 'Output tokens/s',
        value: formatCount(Math.max(0, ...points.map(perSecond))),
        more: `peak minute; ${formatCount(total.outputTokens)} total`,
        course: trace(perSecond),
      },
    );
  if (queue)
    figures.push({
      label: 'Queue',
      value: `${formatCount(queue.waiting)} waiting`,
      more: `${formatCount(queue.running)} running; peak ${formatCount(total.queuePeak)} waiting`,
      course: trace(({ queuePeak }) => queuePeak),
    });
  return figures;
}
