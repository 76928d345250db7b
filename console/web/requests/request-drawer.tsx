/** Details and result of a request. */
import { Stack, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RequestDetail } from '../../api.ts';
import { Copyable } from '../parts/copyable.tsx';
import { Moment } from '../parts/moment.tsx';
import { Loaded } from '../parts/page.tsx';
import { SideDrawer } from '../parts/side-drawer.tsx';
import { describeSpan } from '../parts/time-format.ts';
import { CancelRequest } from './cancel-request.tsx';
import { describeCost, describeSubmitter } from './charge.ts';
import { RequestProgress } from './progress.tsx';
import { hasEnded, useRequest } from './request-query.ts';
import { Result } from './result.tsx';

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
          <Copyable text={request.id} label="request ID" />
          <Facts request={request} />
        </Stack>
      )}
    </Loaded>
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
    ...(images === null ? [] : [['Images', images] satisfies [string, number]]),
    ...(size === null ? [] : [['Size', size] satisfies [string, string]]),
    ...(seconds === null ? [] : [['Video length', `${seconds} s`] satisfies [string, string]]),
    ['Queued', <Moment key="queued" at={queuedAt} isFull />],
    ['Started', <Moment key="began" at={startedAt} isFull />],
    ['Ended', <Moment key="ended" at={completedAt} isFull />],
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
