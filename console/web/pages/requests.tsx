/** Requests: those in the background with their status and results, or the latest of every kind. */
import '../theme/later-styles.ts';
import { Group, SegmentedControl, Select, Text } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { PageTurner, usePagedQuery } from '../parts/paged-query.tsx';
import { RequestIdField } from '../parts/request-id-field.tsx';
import { useDrawerClose } from '../parts/side-drawer.tsx';
import { TIME_FILTERS, TimeFilter } from '../parts/time-filter.tsx';
import { formatDateTime } from '../parts/time-format.ts';
import { CancelQueued } from '../requests/cancel-queued.tsx';
import { KeyFilter } from '../requests/key-filter.tsx';
import { RecentRequests } from '../requests/recent-requests.tsx';
import { RequestDrawer } from '../requests/request-drawer.tsx';
import { RequestTable } from '../requests/request-table.tsx';

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'canceled'];
const FILTERS = ['deployment', 'status', 'id', 'key', ...TIME_FILTERS];
const PAGE_SIZE = 100;

const VIEWS = [
  { value: '', label: 'In the background' },
  { value: 'all', label: 'All, the latest' },
];

export function RequestsPage() {
  const { search, change } = useFilters();
  const isOfAll = search.get('view') === 'all';
  return (
    <Page
      title="Requests"
      about={
        isOfAll
          ? 'Requests of every kind that have ended, with where they waited.'
          : 'Videos, and images generated in the background, newest first.'
      }
    >
      <SegmentedControl
        aria-label="Which requests"
        data={VIEWS}
        value={isOfAll ? 'all' : ''}
        onChange={(view) => change({ view, filter: null, sort: null, after: null })}
        style={{ alignSelf: 'flex-start' }}
      />
      {isOfAll ? <LatestRequests /> : <BackgroundRequests />}
    </Page>
  );
}

function LatestRequests() {
  const { search, change } = useFilters();
  const deployment = search.get('deployment') ?? '';
  const { data: deployments = [] } = useRead(routes.listDeployments, {}, { refetchInterval: 30_000 });
  return (
    <>
      <DeploymentFilter
        deployments={deployments}
        value={deployment}
        onChange={(chosen) => change({ deployment: chosen })}
      />
      <RecentRequests deployment={deployment} />
    </>
  );
}

function BackgroundRequests() {
  const { search, change, linkTo } = useFilters();
  const close = useDrawerClose(() => change({ request: null }, { replace: true }));
  const deployment = search.get('deployment') ?? '';
  const status = search.get('status') ?? '';
  const id = search.get('id') ?? '';
  const key = search.get('key') ?? '';
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? '']));
  const { query, older, filter } = usePagedQuery({
    route: routes.listRequests,
    filters,
    pageSize: PAGE_SIZE,
    olderOf: (page) => page.older,
  });
  const { data: deployments = [] } = useRead(routes.listDeployments, {}, { refetchInterval: 30_000 });
  const queued = deployments.find(({ name }) => name === deployment)?.queue?.queued ?? 0;
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <>
      <Group align="flex-end">
        <DeploymentFilter
          deployments={deployments.filter(({ kind }) => kind === 'Image' || kind === 'Video')}
          value={deployment}
          onChange={(chosen) => filter({ deployment: chosen })}
        />
        <Select
          label="Status"
          placeholder="All"
          data={STATUSES}
          value={STATUSES.includes(status) ? status : null}
          onChange={(chosen) => filter({ status: chosen })}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear status filter' }}
          w={{ base: 'calc(50% - 0.5rem)', xs: 150 }}
        />
        <KeyFilter
          value={key}
          onChange={(typed) => filter({ key: typed }, { replace: true })}
          requests={query.data?.requests ?? []}
        />
        <TimeFilter search={search} filter={filter} />
        <RequestIdField value={id} onChange={(typed) => filter({ id: typed }, { replace: true })} />
        <CancelQueued key={deployment} deployment={deployment} queued={queued} />
      </Group>
      <Loaded query={query}>
        {({ requests, searchedTo }) => (
          <>
            {requests.length === 0 ? (
              <EmptyState title={isFiltered ? 'No matching requests' : 'No background requests yet'}>
                {isFiltered
                  ? 'Try another deployment, status, key, time or ID.'
                  : 'Generate a video, or an image in the background, in a deployment’s playground. Chats and others that are answered at once are in the list of all requests.'}
              </EmptyState>
            ) : (
              <RequestTable
                requests={requests}
                linkTo={({ deployment, id }) => linkTo({ request: `${deployment}/${id}` })}
              />
            )}
            {searchedTo !== null && (
              <Text size="sm" role="status">
                Searched back to {formatDateTime(new Date(searchedTo))}. “Older” continues the search.
              </Text>
            )}
            <PageTurner label="Request pages" older={older} />
          </>
        )}
      </Loaded>
      <RequestDrawer chosen={search.get('request')} onClose={close} />
    </>
  );
}

interface DeploymentFilterProps {
  deployments: readonly DeploymentView[];
  value: string;
  onChange: (chosen: string | null) => void;
}

function DeploymentFilter({ deployments, value, onChange }: DeploymentFilterProps) {
  const names = deployments.map(({ name }) => name);
  return (
    <Select
      label="Deployment"
      placeholder="All"
      // A deleted deployment may still have requests.
      data={[...new Set([...names, ...(value ? [value] : [])])]}
      value={value || null}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear deployment filter' }}
      searchable
      w={{ base: 'calc(50% - 0.5rem)', xs: 220 }}
    />
  );
}
