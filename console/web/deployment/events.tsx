/** What Kubernetes and the operator recorded about a deployment and its pods. */
import { Badge, Table } from '@mantine/core';
import type { EventView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { usePollInterval } from '../client/live.ts';
import { useRead } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { Timestamp } from '../parts/timestamp.tsx';

const COLUMNS: readonly Column<EventView>[] = [
  { by: 'seen', label: 'Last seen', value: ({ at }) => at, isLargestFirst: true },
  { by: 'reason', label: 'Reason', value: ({ reason }) => reason },
  { by: 'message', label: 'Message', value: ({ message }) => message },
  { by: 'object', label: 'Object', value: ({ object }) => object },
  { by: 'count', label: 'Count', value: ({ count }) => count, isLargestFirst: true },
];

const textsOf = ({ reason, message, object, isWarning }: EventView) => [
  reason,
  message,
  object,
  isWarning ? 'warning' : null,
];

export function Events({ deployment }: { deployment: string }) {
  const query = useRead(
    routes.listEvents,
    { name: deployment },
    { refetchInterval: usePollInterval('events') },
  );
  return (
    <Loaded query={query}>
      {(events) =>
        events.length === 0 ? (
          <EmptyState title="No recent events">Kubernetes keeps events for an hour.</EmptyState>
        ) : (
          <EventTable events={events} />
        )
      }
    </Loaded>
  );
}

function EventTable({ events }: { events: EventView[] }) {
  const list = useArrangement(events, { columns: COLUMNS, textsOf });
  return (
    <ArrangedTable label="Events" minWidth={760} list={list}>
      {(event) => (
        <EventRow key={`${event.object} ${event.reason} ${event.at} ${event.message}`} event={event} />
      )}
    </ArrangedTable>
  );
}

function EventRow({ event: { at, isWarning, reason, message, object, count } }: { event: EventView }) {
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={at} />
      </Table.Td>
      <Table.Td>
        {isWarning && (
          <Badge color="yellow" variant="light" tt="none" size="sm" mr={4}>
            warning
          </Badge>
        )}
        {reason}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} maw={480}>
        {message}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{object}</Table.Td>
      <Table.Td>{count}</Table.Td>
    </Table.Tr>
  );
}
