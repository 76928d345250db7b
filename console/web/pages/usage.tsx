/** What deployments served over time, and what is left to spend. */
import { Group, SegmentedControl, Select } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useSearchParams } from 'react-router';
import { type DeploymentView, USAGE_RANGES, type UsageView } from '../../api.ts';
import { call } from '../call.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState, PageLoader } from '../parts/page-states.tsx';
import { useBase } from '../session.ts';
import { sumUp } from '../usage/totals.ts';
import { UsageTotals } from '../usage/usage-totals.tsx';

// Charts are most of this page's weight: the numbers show before them.
const UsageCharts = lazy(async () => ({
  default: (await import('../usage/usage-charts.tsx')).UsageCharts,
}));

const DEFAULT_RANGE = '24h';

export function UsagePage() {
  const base = useBase();
  const [search, setSearch] = useSearchParams();
  const deployment = search.get('deployment') ?? '';
  const range = USAGE_RANGES.find((known) => known === search.get('range')) ?? DEFAULT_RANGE;
  const change = (name: string, value: string | null) =>
    setSearch(
      (before) => {
        if (value) before.set(name, value);
        else before.delete(name);
        return before;
      },
      { replace: true },
    );
  const query = useQuery({
    queryKey: [base, 'usage', { deployment, range }],
    queryFn: ({ signal }) => {
      const wanted = new URLSearchParams({ range, ...(deployment && { deployment }) });
      return call<UsageView>('GET', `${base}/usage?${wanted}`, undefined, signal);
    },
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  return (
    <Page title="Usage" about="What was asked of the deployments of this namespace, and what came of it.">
      <Group align="flex-end">
        <DeploymentChooser value={deployment} onChange={(chosen) => change('deployment', chosen)} />
        <SegmentedControl
          aria-label="Time range"
          data={[...USAGE_RANGES]}
          value={range}
          onChange={(chosen) => change('range', chosen)}
        />
      </Group>
      <Loaded query={query}>{(usage) => <Usage usage={usage} range={range} />}</Loaded>
    </Page>
  );
}

function Usage({ usage, range }: { usage: UsageView; range: string }) {
  const totals = sumUp(usage.points);
  return (
    <>
      <UsageTotals totals={totals} credit={usage.credit} />
      {totals.requests === 0 && totals.mostQueued === 0 ? (
        <EmptyState title={`Nothing in the last ${range}`}>
          Each request to a deployment is counted here. Send one in a deployment’s playground.
        </EmptyState>
      ) : (
        <Suspense fallback={<PageLoader />}>
          <UsageCharts usage={usage} totals={totals} range={range} />
        </Suspense>
      )}
    </>
  );
}

function DeploymentChooser(props: { value: string; onChange: (chosen: string | null) => void }) {
  const { value, onChange } = props;
  const base = useBase();
  const { data = [] } = useQuery({
    queryKey: [base, 'deployments'],
    queryFn: ({ signal }) => call<DeploymentView[]>('GET', `${base}/deployments`, undefined, signal),
    refetchInterval: 30_000,
  });
  return (
    <Select
      label="Deployment"
      placeholder="All"
      // One that is gone may still have been used.
      data={[...new Set([...data.map(({ name }) => name), ...(value ? [value] : [])])]}
      value={value || null}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Every deployment' }}
      searchable
      w={{ base: '100%', xs: 220 }}
    />
  );
}
