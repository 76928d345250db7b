/** Usage of deployments over time, and remaining credit. */
import '../theme/later-styles.ts';
import { Group, Select } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { type TrafficView, USAGE_RANGES, type UsageView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState, PageLoader } from '../parts/page-states.tsx';
import { RangeChoice, useRange } from '../parts/range-choice.tsx';
import { KeyUsage } from '../usage/key-usage.tsx';
import { UsageTotals } from '../usage/usage-totals.tsx';

// Charts are most of this page's code; the totals show first.
const UsageCharts = lazy(async () => ({
  default: (await import('../usage/usage-charts.tsx')).UsageCharts,
}));

const DEFAULT_RANGE = '24h';

/** Instead of a deployment's name. */
const ALL = '*';

export function UsagePage() {
  const { search, change } = useFilters();
  const deployments = useRead(routes.listDeployments, {}, { refetchInterval: 30_000 });
  const names = (deployments.data ?? []).map(({ name }) => name);
  const busiest = useBusiest(search.has('deployment'));
  // One by default: counts of several deployments can be added, latencies cannot.
  const chosen = search.get('deployment') ?? busiest ?? names[0] ?? ALL;
  const range = useRange(USAGE_RANGES, DEFAULT_RANGE);
  const deployment = chosen === ALL ? '' : chosen;
  const query = useRead(
    routes.readUsage,
    { deployment, range },
    {
      enabled: search.has('deployment') || (!deployments.isPending && busiest !== undefined),
      placeholderData: keepPreviousData,
      refetchInterval: 10_000,
    },
  );
  return (
    <Page title="Usage" about="Requests, tokens, latency and credit of the deployments in this namespace.">
      <Group align="flex-end">
        <Select
          label="Deployment"
          data={[
            { value: ALL, label: 'All deployments' },
            // A deleted deployment may still have usage.
            ...new Set([...names, ...(deployment ? [deployment] : [])]),
          ]}
          value={chosen}
          onChange={(next) => change({ deployment: next })}
          allowDeselect={false}
          searchable
          w={{ base: '100%', xs: 220 }}
        />
        <RangeChoice ranges={USAGE_RANGES} value={range} />
      </Group>
      <Loaded query={query}>
        {(usage) => <Usage usage={usage} range={range} deployment={deployment} />}
      </Loaded>
    </Page>
  );
}

/** With most requests in the last hour when the page was opened; null: none had any. undefined while it is not known. */
function useBusiest(isChosen: boolean): string | null | undefined {
  const [first, setFirst] = useState<string | null>();
  const { data, isError } = useRead(routes.listTraffic, {}, { enabled: !isChosen && first === undefined });
  if (first === undefined && (data !== undefined || isError)) setFirst(findBusiest(data ?? []));
  return first;
}

function findBusiest(traffic: readonly TrafficView[]): string | null {
  const used = traffic.filter(({ total }) => total.requests > 0);
  return used.sort((a, b) => b.total.requests - a.total.requests)[0]?.deployment ?? null;
}

interface UsageProps {
  usage: UsageView;
  range: string;
  /** '' = all. */
  deployment: string;
}

function Usage({ usage, range, deployment }: UsageProps) {
  const { requests, queuePeak } = usage.total;
  const isOneDeployment = deployment !== '';
  return (
    <>
      <UsageTotals usage={usage} isOneDeployment={isOneDeployment} />
      {requests === 0 && queuePeak === 0 ? (
        <EmptyState title={`No requests in the last ${range}`}>
          Requests to deployments are counted here. To send one, use a deployment’s playground.
        </EmptyState>
      ) : (
        <>
          <Suspense fallback={<PageLoader />}>
            <UsageCharts usage={usage} range={range} isOneDeployment={isOneDeployment} />
          </Suspense>
          <KeyUsage deployment={deployment} range={range} />
        </>
      )}
    </>
  );
}
