/** One delivery with its payload and attempts. */
import { Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { DeliveryDetail } from '../../api.ts';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { Copyable } from '../parts/copyable.tsx';
import { Loaded } from '../parts/page.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { SideDrawer } from '../parts/side-drawer.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { formatDateTime } from '../parts/time-format.ts';
import { ResendDelivery } from './resend-delivery.tsx';
import { describeAnswer } from './test-result.tsx';

/** `id` null: closed. */
export function DeliveryDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  return (
    <SideDrawer title="Delivery" onClose={onClose}>
      {id === null ? null : <Detail id={id} />}
    </SideDrawer>
  );
}

function Detail({ id }: { id: string }) {
  const base = useBase();
  const query = useQuery({
    queryKey: [base, 'deliveries', id],
    queryFn: ({ signal }) =>
      call<DeliveryDetail>('GET', `${base}/deliveries/${encodeURIComponent(id)}`, undefined, signal),
  });
  return (
    <Loaded query={query}>
      {(delivery) => (
        <Stack>
          <StateBadge state={delivery.state} />
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {delivery.type} to {delivery.endpoint ?? 'the request’s callback'}, {delivery.url}
          </Text>
          <ResendDelivery delivery={delivery} />
          <Title order={3} size="h5">
            Attempts
          </Title>
          <Attempts history={delivery.history} />
          <Title order={3} size="h5">
            Payload
          </Title>
          {delivery.body === null ? (
            <Text c="dimmed">The event has expired.</Text>
          ) : (
            <Copyable text={formatBody(delivery.body)} label="payload" />
          )}
          <Copyable text={delivery.eventId} label="event ID" />
        </Stack>
      )}
    </Loaded>
  );
}

function Attempts({ history }: Pick<DeliveryDetail, 'history'>) {
  if (history.length === 0) return <Text c="dimmed">No attempts yet.</Text>;
  return (
    <ScrollTable label="Attempts" minWidth={320} columns={['Time', 'Response']}>
      {history.map(({ at, status, error }) => (
        <Table.Tr key={at}>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>{formatDateTime(new Date(at))}</Table.Td>
          <Table.Td>{describeAnswer({ status, error: error || null }) ?? '–'}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

function formatBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
