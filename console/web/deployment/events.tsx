/** What Kubernetes and the operator recorded about a deployment and its pods. */
import { Badge, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { EventView } from '../../api.ts';
import { call } from '../client/call.ts';
import { usePollInterval } from '../client/live.ts';
import { useBase } from '../client/session.ts';
import { Moment } from '../parts/moment.tsx';
import { Loaded } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';

const COLUMNS = ['Last seen', 'Reason', 'Message', 'Object', 'Count'];

export function Events({ deployment }: { deployment: string }) {
  const base = useBase();
  const query = useQuery({
    queryKey: [base, 'events', deployment],
    queryFn: ({ signal }) =>
      call<EventView[]>(
        'GET',
        `${base}/deployments/${encodeURIComponent(deployment)}/events`,
        undefined,
        signal,
      ),
    refetchInterval: usePollInterval('events'),
  });
  return (
    <Loaded query={query}>
      {(events) =>
        events.length === 0 ? (
          <EmptyState title="No recent events">Kubernetes keeps events for an hour.</EmptyState>
        ) : (
          <ScrollTable label="Events" minWidth={760} columns={COLUMNS}>
            {events.map((event) => (
              <EventRow key={`${event.object} ${event.reason} ${event.at} ${event.message}`} event={event} />
            ))}
          </ScrollTable>
        )
      }
    </Loaded>
  );
}

function EventRow({ event: { at, isWarning, reason, message, object, count } }: { event: EventView }) {
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={at} />
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
