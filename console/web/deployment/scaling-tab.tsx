/** Demand and replicas of a deployment over time, and why its replicas changed. */
import { SegmentedControl, Stack } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { SCALING_RANGES } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded } from '../parts/page.tsx';
import { PageLoader } from '../parts/page-states.tsx';

// Charts are most of this tab's code.
const ScalingChart = lazy(async () => ({
  default: (await import('./scaling-chart.tsx')).ScalingChart,
}));

export function ScalingTab({ name }: { name: string }) {
  const { search, change } = useFilters();
  const range = SCALING_RANGES.find((known) => known === search.get('range')) ?? SCALING_RANGES[0];
  const query = useRead(
    routes.readScaling,
    { name, range },
    { placeholderData: keepPreviousData, refetchInterval: 10_000 },
  );
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
