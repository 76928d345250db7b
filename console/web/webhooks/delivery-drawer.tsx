/** One delivery with its payload and attempts. */
import { Button, Code, Stack, Table, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { AttemptView, DeliveryDetail } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { Copyable } from '../parts/copyable.tsx';
import { Loaded } from '../parts/page.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { SideDrawer } from '../parts/side-drawer.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { formatDateTime } from '../parts/time-format.ts';
import { formatMs } from '../usage/totals.ts';
import { describeAnswer, nameState } from './delivery-state.ts';
import { ResendDelivery } from './resend-delivery.tsx';

/** `id` null: closed. */
export function DeliveryDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  return (
    <SideDrawer title="Delivery" onClose={onClose}>
      {id === null ? null : <Detail id={id} />}
    </SideDrawer>
  );
}

function Detail({ id }: { id: string }) {
  const query = useRead(routes.readDelivery, { id });
  return (
    <Loaded query={query}>
      {(delivery) => (
        <Stack>
          <StateBadge state={nameState(delivery)} />
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
    <ScrollTable label="Attempts" minWidth={420} columns={['Time', 'Response', 'Duration', 'Headers']}>
      {history.map((attempt) => (
        <Attempt key={attempt.at} attempt={attempt} />
      ))}
    </ScrollTable>
  );
}

function Attempt({ attempt }: { attempt: AttemptView }) {
  const { at, status, error, tookMs, requestHeaders, responseHeaders } = attempt;
  const [isOpen, { toggle }] = useDisclosure();
  const time = formatDateTime(new Date(at));
  return (
    <>
      <Table.Tr>
        <Table.Td style={{ whiteSpace: 'nowrap' }}>{time}</Table.Td>
        <Table.Td>{describeAnswer({ status, error: error || null }) ?? '–'}</Table.Td>
        <Table.Td className="number">{formatMs(tookMs)}</Table.Td>
        <Table.Td>
          {requestHeaders && (
            <Button
              size="compact-xs"
              variant="subtle"
              aria-expanded={isOpen}
              aria-label={`${isOpen ? 'Hide' : 'Show'} headers of the attempt of ${time}`}
              onClick={toggle}
            >
              {isOpen ? 'Hide' : 'Show'}
            </Button>
          )}
        </Table.Td>
      </Table.Tr>
      {isOpen && requestHeaders && (
        <Table.Tr>
          <Table.Td colSpan={4}>
            <Headers label="Request headers" headers={requestHeaders} />
            <Headers label="Response headers" headers={responseHeaders} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

function Headers({ label, headers }: { label: string; headers: Record<string, string> }) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Stack gap={2} mb="xs">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      {lines.length === 0 ? (
        <Text size="xs">None.</Text>
      ) : (
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {lines.join('\n')}
        </Code>
      )}
    </Stack>
  );
}

function formatBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
