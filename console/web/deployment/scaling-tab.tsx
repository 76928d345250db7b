/** Demand and replicas of a deployment over time, and why its replicas changed. */
import { Stack } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { SCALING_RANGES } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { Loaded } from '../parts/page.tsx';
import { PageLoader } from '../parts/page-states.tsx';
import { RangeChoice, useRange } from '../parts/range-choice.tsx';

// Charts are most of this tab's code.
const ScalingChart = lazy(async () => ({
  default: (await import('./scaling-chart.tsx')).ScalingChart,
}));

export function ScalingTab({ name }: { name: string }) {
  const range = useRange(SCALING_RANGES, SCALING_RANGES[0]);
  const query = useRead(
    routes.readScaling,
    { name, range },
    { placeholderData: keepPreviousData, refetchInterval: 10_000 },
  );
  return (
    <Stack>
      <RangeChoice ranges={SCALING_RANGES} value={range} />
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
