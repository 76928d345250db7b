/** Demand and replicas of a deployment over time, and why its replicas changed. */
import { SegmentedControl, Stack } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { SCALING_RANGES, type ScalingHistoryView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded } from '../parts/page.tsx';
import { PageLoader } from '../parts/page-states.tsx';

// Charts are most of this tab's code.
const ScalingChart = lazy(async () => ({
  default: (await import('./scaling-chart.tsx')).ScalingChart,
}));

export function ScalingTab({ name }: { name: string }) {
  const base = useBase();
  const { search, change } = useFilters();
  const range = SCALING_RANGES.find((known) => known === search.get('range')) ?? SCALING_RANGES[0];
  const query = useQuery({
    queryKey: [base, 'scaling', { name, range }],
    queryFn: ({ signal }) =>
      call<ScalingHistoryView>(
        'GET',
        `${base}/deployments/${encodeURIComponent(name)}/scaling?range=${range}`,
        undefined,
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  return (
    <Stack>
      <SegmentedControl
        aria-label="Time range"
        data={[...SCALING_RANGES]}
        value={range}
        onChange={(next) => change({ range: next })}
        w="fit-content"
      />
      <Loaded query={query}>
        {(history) => (
          <Suspense fallback={<PageLoader />}>
            <ScalingChart history={history} range={range} />
          </Suspense>
        )}
      </Loaded>
    </Stack>
  );
}
