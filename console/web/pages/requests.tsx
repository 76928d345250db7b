/** Asynchronous requests: what waits, runs and has ended, and what came of each. */
import { Button, Group, Select } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import type { DeploymentView, RequestView } from '../../api.ts';
import { call } from '../call.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { RequestDrawer } from '../requests/request-drawer.tsx';
import { RequestTable } from '../requests/request-table.tsx';
import { useBase } from '../session.ts';

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'canceled'];
const FIRST_LIMIT = 50;
const MOST = 200;

export function RequestsPage() {
  const base = useBase();
  const [search, setSearch] = useSearchParams();
  const deployment = search.get('deployment') ?? '';
  const status = search.get('status') ?? '';
  const limit = search.has('all') ? MOST : FIRST_LIMIT;
  const change = (changes: Record<string, string | null>) =>
    setSearch(
      (before) => {
        for (const [name, value] of Object.entries(changes))
          if (value) before.set(name, value);
          else before.delete(name);
        return before;
      },
      { replace: true },
    );
  const query = useQuery({
    queryKey: [base, 'requests', { deployment, status, limit }],
    queryFn: ({ signal }) => {
      const wanted = new URLSearchParams({ deployment, status, limit: String(limit) });
      return call<RequestView[]>('GET', `${base}/requests?${wanted}`, undefined, signal);
    },
    placeholderData: keepPreviousData,
  });
  const isFiltered = deployment !== '' || status !== '';
  return (
    <Page title="Requests" about="Videos, and pictures made in the background; newest first.">
      <Group align="flex-end">
        <DeploymentFilter value={deployment} onChange={(chosen) => change({ deployment: chosen })} />
        <Select
          label="Status"
          placeholder="All"
          data={STATUSES}
          value={STATUSES.includes(status) ? status : null}
          onChange={(chosen) => change({ status: chosen })}
          clearable
          clearButtonProps={{ 'aria-label': 'Every status' }}
          w={160}
        />
      </Group>
      <Loaded query={query}>
        {(requests) =>
          requests.length === 0 ? (
            <EmptyState title={isFiltered ? 'No request fits' : 'No requests yet'}>
              {isFiltered
                ? 'Choose another deployment or status.'
                : 'Make a video, or a picture in the background, in the playground of a deployment.'}
            </EmptyState>
          ) : (
            <>
              <RequestTable
                requests={requests}
                onChoose={({ deployment, id }) => change({ request: `${deployment}/${id}` })}
              />
              {requests.length === FIRST_LIMIT && limit === FIRST_LIMIT && (
                <Button variant="default" onClick={() => change({ all: '1' })}>
                  Show up to {MOST}
                </Button>
              )}
            </>
          )
        }
      </Loaded>
      <RequestDrawer chosen={search.get('request')} onClose={() => change({ request: null })} />
    </Page>
  );
}

function DeploymentFilter({ value, onChange }: { value: string; onChange: (chosen: string | null) => void }) {
  const base = useBase();
  const { data = [] } = useQuery({
    queryKey: [base, 'deployments'],
    queryFn: ({ signal }) => call<DeploymentView[]>('GET', `${base}/deployments`, undefined, signal),
    refetchInterval: 30_000,
  });
  const names = data.filter(({ kind }) => kind === 'Image' || kind === 'Video').map(({ name }) => name);
  return (
    <Select
      label="Deployment"
      placeholder="All"
      // A deployment that is gone may still have requests.
      data={[...new Set([...names, ...(value ? [value] : [])])]}
      value={value || null}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Every deployment' }}
      searchable
      w={220}
    />
  );
}
