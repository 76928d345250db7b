/** What was sent to receivers of webhooks, and how they answered: the latest 200. */
import { Anchor, Badge, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { DeliveryView, RequestView, WebhookView } from '../../api.ts';
import { call } from '../call.ts';
import { Moment } from '../parts/moment.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { useAccess, useBase, useNamespace } from '../session.ts';
import { describeAnswer } from '../webhooks/answer.ts';

const STATES = ['pending', 'delivered', 'failed'];
/** How the API names the callbacks of requests themselves. */
const CALLBACKS = '-';
/** So long a pause ends the typing of a filter. */
const TYPING_MS = 300;
const COLUMNS = ['Event', 'Target', 'State', 'Attempts', 'Answer', 'Sent'];

export function DeliveriesPage() {
  const base = useBase();
  const [search, setSearch] = useSearchParams();
  const filters = ['endpoint', 'request', 'state'].map((name) => [name, search.get(name) ?? '']);
  const change = (name: string, value: string | null) =>
    setSearch(
      (before) => {
        if (value) before.set(name, value);
        else before.delete(name);
        return before;
      },
      { replace: true },
    );
  const wanted = new URLSearchParams(filters.filter(([, value]) => value !== '') as [string, string][]);
  const query = useQuery({
    queryKey: [base, 'deliveries', String(wanted)],
    queryFn: ({ signal }) => call<DeliveryView[]>('GET', `${base}/deliveries?${wanted}`, undefined, signal),
    placeholderData: keepPreviousData,
  });
  const deployments = useDeployments();
  return (
    <Page
      title="Deliveries"
      about="The latest 200 in this namespace, newest first. A failed one was tried three times."
    >
      <Group align="flex-end">
        <EndpointFilter value={search.get('endpoint')} onChange={(chosen) => change('endpoint', chosen)} />
        <Select
          label="State"
          placeholder="All"
          data={STATES}
          value={STATES.find((state) => state === search.get('state')) ?? null}
          onChange={(chosen) => change('state', chosen)}
          clearable
          clearButtonProps={{ 'aria-label': 'Every state' }}
          w={{ base: '100%', xs: 150 }}
        />
        <RequestFilter value={search.get('request') ?? ''} onChange={(typed) => change('request', typed)} />
      </Group>
      <Loaded query={query}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <EmptyState title={wanted.size > 0 ? 'No delivery fits' : 'Nothing was sent yet'}>
              {wanted.size > 0
                ? 'Choose another endpoint, state or request.'
                : 'Events of requests are sent to webhooks and to the requests’ own callbacks when they end.'}
            </EmptyState>
          ) : (
            <ScrollTable label="Deliveries" minWidth={820} columns={COLUMNS}>
              {deliveries.map((delivery) => (
                <DeliveryRow
                  key={delivery.id}
                  delivery={delivery}
                  deployment={deployments.get(delivery.requestId ?? '')}
                />
              ))}
            </ScrollTable>
          )
        }
      </Loaded>
    </Page>
  );
}

function EndpointFilter({ value, onChange }: { value: string | null; onChange: (v: string | null) => void }) {
  const base = useBase();
  const { data = [] } = useQuery({
    queryKey: [base, 'webhooks'],
    queryFn: ({ signal }) => call<WebhookView[]>('GET', `${base}/webhooks`, undefined, signal),
    refetchInterval: 30_000,
  });
  const names = new Set(data.map(({ name }) => name));
  // One that is gone may still have deliveries.
  if (value && value !== CALLBACKS) names.add(value);
  return (
    <Select
      label="Endpoint"
      placeholder="All"
      data={[
        { value: CALLBACKS, label: 'Callbacks of requests' },
        ...[...names].map((name) => ({ value: name, label: name })),
      ]}
      value={value}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Every endpoint' }}
      searchable
      w={{ base: '100%', xs: 220 }}
    />
  );
}

/** What is typed belongs to the field until the typing pauses: the address follows too late for a keyboard. */
function RequestFilter({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const tell = useDebouncedCallback(onChange, TYPING_MS);
  useEffect(() => {
    // A link, not the field's own change.
    if (document.activeElement !== input.current) setText(value);
  }, [value]);
  return (
    <TextInput
      ref={input}
      label="Request"
      placeholder="req_…"
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value.trim());
      }}
      onBlur={() => tell.flush()}
      w={{ base: '100%', xs: 320 }}
    />
  );
}

/** Which deployment each of the latest requests was made to: the page of requests wants both. */
function useDeployments(): Map<string, string> {
  const base = useBase();
  const { readRequests = false } = useAccess();
  const { data = [] } = useQuery({
    queryKey: [base, 'requests', 'deployments'],
    queryFn: ({ signal }) => call<RequestView[]>('GET', `${base}/requests?limit=200`, undefined, signal),
    enabled: readRequests,
    refetchInterval: 15_000,
  });
  return new Map(data.map(({ id, deployment }) => [id, deployment]));
}

function DeliveryRow({ delivery, deployment }: { delivery: DeliveryView; deployment: string | undefined }) {
  const namespace = useNamespace();
  const { type, requestId, endpoint, url, isTest, state, attempts, createdAt } = delivery;
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={2}>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm">{type}</Text>
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
        <StateBadge state={state} />
      </Table.Td>
      <Table.Td>{attempts} of 3</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} maw={240}>
        {describeAnswer(delivery) ?? '–'}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={createdAt} />
      </Table.Td>
    </Table.Tr>
  );
}
