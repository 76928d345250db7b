/** What a deployment's engines had to do over time: requests that ran and waited, and the KV cache. */
import { Stack, Text } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { type DeploymentView, USAGE_RANGES } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { Loaded } from '../parts/page.tsx';
import { EmptyState, PageLoader } from '../parts/page-states.tsx';
import { RangeChoice, useRange } from '../parts/range-choice.tsx';

// Charts are most of this tab's code.
const LoadCharts = lazy(async () => ({ default: (await import('./load-charts.tsx')).LoadCharts }));

export function LoadTab({ name, kind }: Pick<DeploymentView, 'name' | 'kind'>) {
  const { readRequests = false } = useAccess();
  // Videos have a list of their own.
  const isLinked = readRequests && kind !== 'Video';
  const range = useRange(USAGE_RANGES, USAGE_RANGES[0]);
  const query = useRead(
    routes.readUsage,
    { deployment: name, range },
    { placeholderData: keepPreviousData, refetchInterval: 10_000 },
  );
  return (
    <Stack>
      <RangeChoice ranges={USAGE_RANGES} value={range} />
      <Loaded query={query}>
        {(usage) =>
          usage.total.inflightPeak === 0 ? (
            <EmptyState title={`No requests seen in the last ${range}`}>
              While there are requests, replicas look every second how many run and wait. Shorter ones may be
              missed.
            </EmptyState>
          ) : (
            <>
              <Suspense fallback={<PageLoader />}>
                <LoadCharts name={name} usage={usage} range={range} isLinked={isLinked} />
              </Suspense>
              {isLinked && (
                <Text size="sm" c="dimmed">
                  Click a time in a chart, or choose it in a table, to see its requests.
                </Text>
              )}
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}
