/** The log of webhook deliveries. */
import '../theme/later-styles.ts';
import { Anchor, Badge, Group, Select, Stack, Table, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { DeliveryView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { PageTurner, usePagedQuery } from '../parts/paged-query.tsx';
import { RequestIdField } from '../parts/request-id-field.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { DRAWER_STATE, useDrawerClose } from '../parts/side-drawer.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { TIME_FILTERS, TimeFilter } from '../parts/time-filter.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { DeliveryDrawer } from '../webhooks/delivery-drawer.tsx';
import { describeAnswer, MAX_ATTEMPTS, nameState } from '../webhooks/delivery-state.ts';
import { Recover } from '../webhooks/recover.tsx';
import { ResendDelivery } from '../webhooks/resend-delivery.tsx';

const FILTERS = ['endpoint', 'request', 'state', ...TIME_FILTERS];
const PAGE_SIZE = 50;
const STATES = ['pending', 'delivered', 'failed'];
/** The API's value for inline callbacks. */
const CALLBACKS = '-';
const COLUMNS = ['Event', 'Target', 'State', 'Attempts', 'Response', 'Sent', 'Actions'];

export function DeliveriesPage() {
  const { search, change, linkTo } = useFilters();
  const close = useDrawerClose(() => change({ delivery: null }, { replace: true }));
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? '']));
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const { query, older, filter } = usePagedQuery({
    route: routes.listDeliveries,
    filters,
    pageSize: PAGE_SIZE,
    olderOf: (page) => (page.length === PAGE_SIZE ? page.at(-1)!.id : null),
  });
  const deployments = useDeployments();
  return (
    <Page
      title="Deliveries"
      about="The latest 1,000 deliveries in this namespace, newest first. A delivery fails after three attempts."
      actions={<Recover size="sm" {...(search.get('endpoint') && { endpoint: search.get('endpoint')! })} />}
    >
      <Group align="flex-end">
        <EndpointFilter value={search.get('endpoint')} onChange={(chosen) => filter({ endpoint: chosen })} />
        <Select
          label="State"
          placeholder="All"
          data={STATES}
          value={STATES.find((state) => state === search.get('state')) ?? null}
          onChange={(chosen) => filter({ state: chosen })}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear state filter' }}
          w={{ base: '100%', xs: 150 }}
        />
        <TimeFilter search={search} filter={filter} />
        <RequestIdField
          label="Request or event"
          placeholder="req_… or evt_…"
          value={search.get('request') ?? ''}
          onChange={(typed) => filter({ request: typed }, { replace: true })}
        />
      </Group>
      <Loaded query={query}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <EmptyState title={isFiltered ? 'No matching deliveries' : 'No deliveries yet'}>
              {isFiltered
                ? 'Try another endpoint, state, time or request.'
                : 'When a request ends, its event is sent to webhook endpoints and to the request’s own callback.'}
            </EmptyState>
          ) : (
            <>
              <ScrollTable label="Deliveries" minWidth={900} columns={COLUMNS}>
                {deliveries.map((delivery) => (
                  <DeliveryRow
                    key={delivery.id}
                    delivery={delivery}
                    deployment={deployments.get(delivery.requestId ?? '')}
                    detail={linkTo({ delivery: delivery.id })}
                  />
                ))}
              </ScrollTable>
              <PageTurner label="Delivery pages" older={older} />
            </>
          )
        }
      </Loaded>
      <DeliveryDrawer id={search.get('delivery')} onClose={close} />
    </Page>
  );
}

function EndpointFilter({ value, onChange }: { value: string | null; onChange: (v: string | null) => void }) {
  const { data = [] } = useRead(routes.listWebhooks, {}, { refetchInterval: 30_000 });
  const names = new Set(data.map(({ name }) => name));
  // A deleted endpoint may still have deliveries.
  if (value && value !== CALLBACKS) names.add(value);
  return (
    <Select
      label="Endpoint"
      placeholder="All"
      data={[
        { value: CALLBACKS, label: 'Request callbacks' },
        ...[...names].map((name) => ({ value: name, label: name })),
      ]}
      value={value}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear endpoint filter' }}
      searchable
      w={{ base: '100%', xs: 220 }}
    />
  );
}

/** The deployment of each recent request, for links to the requests page. */
function useDeployments(): Map<string, string> {
  const { readRequests = false } = useAccess();
  const { data } = useRead(
    routes.listRequests,
    { limit: '200' },
    { enabled: readRequests, refetchInterval: 15_000 },
  );
  return new Map(data?.requests.map(({ id, deployment }) => [id, deployment]));
}

interface DeliveryRowProps {
  delivery: DeliveryView;
  deployment: string | undefined;
  /** Link to its drawer. */
  detail: { search: string };
}

function DeliveryRow({ delivery, deployment, detail }: DeliveryRowProps) {
  const namespace = useNamespace();
  const { type, requestId, endpoint, url, isTest, attempts, createdAt } = delivery;
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={2}>
          <Group gap="xs" wrap="nowrap">
            <Anchor
              component={Link}
              to={detail}
              state={DRAWER_STATE}
              size="sm"
              underline="always"
              aria-label={`${type}, details of ${delivery.id}`}
            >
              {type}
            </Anchor>
            {isTest && (
              <Badge size="xs" variant="outline" tt="none">
                test
              </Badge>
            )}
          </Group>
          {requestId && (
            <Anchor
              component={Link}
              to={
                deployment
                  ? `/${namespace}/requests?request=${encodeURIComponent(`${deployment}/${requestId}`)}`
                  : `/${namespace}/deliveries?request=${requestId}`
              }
              aria-label={deployment ? `Request ${requestId}` : `Deliveries of ${requestId}`}
              size="xs"
              ff="monospace"
              underline="always"
            >
              {requestId}
            </Anchor>
          )}
        </Stack>
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} maw={{ base: '100%', xs: 320 }}>
        <Text size="sm">{endpoint ?? 'callback'}</Text>
        <Text size="xs" c="dimmed">
          {url}
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge state={nameState(delivery)} />
      </Table.Td>
      <Table.Td>
        {attempts} of {MAX_ATTEMPTS}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} maw={240}>
        {describeAnswer(delivery) ?? '–'}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={createdAt} />
      </Table.Td>
      <Table.Td>
        <ResendDelivery delivery={delivery} size="compact-sm" />
      </Table.Td>
    </Table.Tr>
  );
}
