/** How a deployment served in the last hour. */
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { UsageView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { countErrors, countOf, formatMs } from '../usage/totals.ts';

const RANGE = '1h';
const INTERVAL_MS = 30_000;

export function Traffic({ deployment }: { deployment: string }) {
  const base = useBase();
  const namespace = useNamespace();
  const { readUsage = false } = useAccess();
  const { data } = useQuery({
    queryKey: [base, 'usage', { deployment, range: RANGE }],
    queryFn: ({ signal }) =>
      call<UsageView>(
        'GET',
        `${base}/usage?${new URLSearchParams({ deployment, range: RANGE })}`,
        undefined,
        signal,
      ),
    enabled: readUsage,
    refetchInterval: INTERVAL_MS,
  });
  if (!data) return null;
  const { requests, inputTokens, outputTokens, p95Ms, ...errors } = data.total;
  const facts = [
    countOf(requests, 'request'),
    countOf(countErrors(errors), 'error'),
    p95Ms !== null && `p95 ${formatMs(p95Ms)}`,
    inputTokens + outputTokens > 0 && countOf(inputTokens + outputTokens, 'token'),
  ];
  return (
    <Text size="sm" c="dimmed">
      Last hour: {facts.filter(Boolean).join(' · ')} ·{' '}
      <Anchor
        component={Link}
        to={`/${namespace}/usage?${new URLSearchParams({ deployment, range: RANGE })}`}
        inherit
        underline="always"
      >
        Usage
      </Anchor>
    </Text>
  );
}
