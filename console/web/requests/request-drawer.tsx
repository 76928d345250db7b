/** Details and result of a request. */
import { Anchor, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { ReplaysView, RequestDetail } from '../../api.ts';
import { Copyable } from '../parts/copyable.tsx';
import { useFilters } from '../parts/filters.ts';
import { Loaded } from '../parts/page.tsx';
import { SideDrawer } from '../parts/side-drawer.tsx';
import { describeSpan } from '../parts/time-format.ts';
import { Timestamp } from '../parts/timestamp.tsx';
import { CancelRequest } from './cancel-request.tsx';
import { describeCost, describeSubmitter, formatReceipt } from './charge.ts';
import { RequestProgress } from './progress.tsx';
import { RequestInput } from './request-input.tsx';
import { hasEnded, useRequest } from './request-query.ts';
import { Result } from './result.tsx';
import { RetryRequest } from './retry-request.tsx';

/** `chosen`: deployment/id, or null. */
export function RequestDrawer({ chosen, onClose }: { chosen: string | null; onClose: () => void }) {
  const [deployment = '', id = ''] = chosen?.split('/') ?? [];
  return (
    <SideDrawer title="Request" onClose={onClose}>
      {chosen === null ? null : <Detail deployment={deployment} id={id} />}
    </SideDrawer>
  );
}

function Detail({ deployment, id }: { deployment: string; id: string }) {
  const query = useRequest(deployment, id);
  return (
    <Loaded query={query}>
      {(request) => (
        <Stack>
          <RequestProgress request={request} />
          {!hasEnded(request) && <CancelRequest request={request} />}
          <Result request={request} />
          {(request.status === 'failed' || request.status === 'canceled') && (
            <RetryRequest request={request} />
          )}
          <Copyable text={request.id} label="request ID" />
          <Facts request={request} />
          <Receipt request={request} />
          {hasEnded(request) && <RequestInput request={request} />}
        </Stack>
      )}
    </Loaded>
  );
}

function Receipt({ request }: { request: RequestDetail }) {
  const receipt = formatReceipt(request);
  if (receipt === null) return null;
  return (
    <Stack gap={4} component="section" aria-label="Receipt">
      <Text fw={600} size="sm">
        Receipt
      </Text>
      <Copyable text={receipt} label="receipt" />
    </Stack>
  );
}

function RequestLink({ deployment, id }: { deployment: string; id: string }) {
  const { linkTo } = useFilters();
  return (
    <Anchor component={Link} to={linkTo({ request: `${deployment}/${id}` })} size="sm" underline="always">
      {id}
    </Anchor>
  );
}

/** By its idempotency key: each got this request, whatever it asked for. */
function Replays({ replays: { count, lastAt, differing } }: { replays: ReplaysView }) {
  return (
    <>
      {count === 1 ? 'once' : `${count} times`} by its Idempotency-Key, last <Timestamp at={lastAt} isFull />
      {differing.length > 0 && `; another ${differing.join(', ')} was ignored`}
    </>
  );
}

function Facts({ request }: { request: RequestDetail }) {
  const { deployment, modality, model, size, seconds, images, queuedAt, startedAt, completedAt } = request;
  const facts: [string, ReactNode][] = [
    ['Deployment', deployment],
    ['Kind', modality],
    ['Model', model],
    ['Submitted by', describeSubmitter(request)],
    ['Cost', describeCost(request)],
    ...[['Retry of', request.retryOf] as const, ['Retried as', request.retriedAs] as const].flatMap(
      ([name, id]): [string, ReactNode][] =>
        id === null ? [] : [[name, <RequestLink key={name} deployment={deployment} id={id} />]],
    ),
    ...(request.replays === null
      ? []
      : [['Asked again', <Replays key="replays" replays={request.replays} />] satisfies [string, ReactNode]]),
    ...(images === null ? [] : [['Images', images] satisfies [string, number]]),
    ...(size === null ? [] : [['Size', size] satisfies [string, string]]),
    ...(seconds === null ? [] : [['Video length', `${seconds} s`] satisfies [string, string]]),
    ['Queued', <Timestamp key="queued" at={queuedAt} isFull />],
    ['Started', <Timestamp key="began" at={startedAt} isFull />],
    ['Ended', <Timestamp key="ended" at={completedAt} isFull />],
    ['Time in queue', describeSpan(queuedAt, startedAt ?? completedAt)],
    ['Duration', describeSpan(startedAt, completedAt)],
  ];
  return (
    <Table aria-label="Details" variant="vertical" withTableBorder>
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w={120}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
