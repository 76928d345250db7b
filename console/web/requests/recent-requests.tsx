/** The latest requests of every kind: which were slow or failed, and where they waited. */
import { Table } from '@mantine/core';
import type { RecentRequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { formatMs } from '../usage/totals.ts';
import { nameSubmitter } from './charge.ts';

const INTERVAL_MS = 10_000;

const COLUMNS: readonly Column<RecentRequestView>[] = [
  { by: 'id', label: 'Request', value: ({ id }) => id },
  { by: 'status', label: 'Status', value: ({ status }) => status, isLargestFirst: true },
  { by: 'duration', label: 'Duration', value: ({ durationMs }) => durationMs, isLargestFirst: true },
  { by: 'wait', label: 'Wait', value: ({ waitMs }) => waitMs, isLargestFirst: true },
  { by: 'first', label: 'First token', value: ({ firstTokenMs }) => firstTokenMs, isLargestFirst: true },
  { by: 'tokens', label: 'Tokens in, out', value: ({ outputTokens }) => outputTokens, isLargestFirst: true },
  { by: 'ended', label: 'Ended', value: ({ endedAt }) => endedAt, isLargestFirst: true },
  { by: 'deployment', label: 'Deployment', value: ({ deployment }) => deployment },
  { by: 'route', label: 'Route', value: ({ route }) => route },
  { by: 'key', label: 'Submitted by', value: nameSubmitter },
];
const textsOf = (request: RecentRequestView) => [
  request.id,
  request.deployment,
  request.route,
  `${request.status}`,
  request.errorCode,
  nameSubmitter(request),
];

interface RecentRequestsProps {
  /** '' = all. */
  deployment: string;
  /** Filters by time, of those in progress then; '' = none. */
  times: Record<string, string>;
}

export function RecentRequests({ deployment, times }: RecentRequestsProps) {
  const query = useRead(
    routes.listRecentRequests,
    { deployment, ...times },
    { refetchInterval: INTERVAL_MS },
  );
  const where = deployment ? ' of this deployment' : '';
  const isTimed = Object.values(times).some((time) => time !== '');
  const title = isTimed
    ? `None of the latest requests${where} was in progress then`
    : `No requests${where} yet`;
  return (
    <Loaded query={query}>
      {(requests) =>
        requests.length === 0 ? (
          <EmptyState title={title}>
            Requests appear some seconds after they have ended. Of each deployment, the latest 300 of the last
            day are kept, which may be those of some seconds. Images and videos in the background have a list
            of their own.
          </EmptyState>
        ) : (
          <RecentTable requests={requests} />
        )
      }
    </Loaded>
  );
}

function RecentTable({ requests }: { requests: readonly RecentRequestView[] }) {
  const list = useArrangement(requests, { columns: COLUMNS, textsOf });
  return (
    <ArrangedTable label="Latest requests" minWidth={1_080} list={list}>
      {(request) => (
        <Table.Tr key={`${request.id} ${request.endedAt}`}>
          <Table.Td ff="monospace" style={NO_WRAP} title={request.id}>
            {request.id.length > SHOWN_CHARACTERS ? `…${request.id.slice(-SHOWN_CHARACTERS)}` : request.id}
          </Table.Td>
          <Table.Td style={NO_WRAP}>
            <StateBadge
              state={describeStatus(request)}
              tone={request.status < 400 && request.errorCode === null ? 'good' : 'bad'}
            />
          </Table.Td>
          <Table.Td style={NO_WRAP}>{formatMs(request.durationMs)}</Table.Td>
          <Table.Td style={NO_WRAP}>{formatMs(request.waitMs)}</Table.Td>
          <Table.Td style={NO_WRAP}>{formatMs(request.firstTokenMs)}</Table.Td>
          <Table.Td style={NO_WRAP}>{describeTokens(request)}</Table.Td>
          <Table.Td style={NO_WRAP}>
            <Timestamp at={request.endedAt} />
          </Table.Td>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{request.deployment}</Table.Td>
          <Table.Td>{request.route.replaceAll('_', ' ')}</Table.Td>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{nameSubmitter(request)}</Table.Td>
        </Table.Tr>
      )}
    </ArrangedTable>
  );
}

const NO_WRAP = { whiteSpace: 'nowrap' } as const;
/** The last ones: IDs of a client often start with the same. */
const SHOWN_CHARACTERS = 12;

const describeStatus = ({ status, errorCode }: RecentRequestView): string =>
  errorCode === null ? `${status}` : `${status} ${errorCode}`;

const describeTokens = ({ inputTokens, outputTokens }: RecentRequestView): string =>
  inputTokens === null && outputTokens === null
    ? '–'
    : `${(inputTokens ?? 0).toLocaleString('en')}, ${(outputTokens ?? 0).toLocaleString('en')}`;
