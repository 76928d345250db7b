/** Table of requests. */
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { RequestView } from '../../api.ts';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { DRAWER_STATE } from '../parts/side-drawer.tsx';
import { describeSpan } from '../parts/time-format.ts';
import { Timestamp } from '../parts/timestamp.tsx';
import { CancelRequest } from './cancel-request.tsx';
import { describeCharged, nameSubmitter } from './charge.ts';
import { RequestProgress } from './progress.tsx';

/** Those with `isWide` only where there is room. The status is what a phone shows beside the ID. */
const COLUMNS = [
  { label: 'Request' },
  { label: 'Status' },
  { label: 'Deployment' },
  { label: 'Kind' },
  { label: 'Submitted by', isWide: true },
  { label: 'Cost', isWide: true },
  { label: 'Size' },
  { label: 'Queued' },
  { label: 'Duration' },
  { label: 'Actions' },
];
/** The last digits: those of a workspace all start with the same ones. */
const SHOWN_DIGITS = 8;

interface RequestTableProps {
  requests: RequestView[];
  linkTo: (request: RequestView) => { search: string };
}

export function RequestTable({ requests, linkTo }: RequestTableProps) {
  return (
    <ScrollTable
      label="Requests"
      minWidth={860}
      head={COLUMNS.map(({ label, isWide }) => (
        <Table.Th key={label} scope="col" {...(isWide && { visibleFrom: 'md' })}>
          {label}
        </Table.Th>
      ))}
    >
      {requests.map((request) => (
        <Table.Tr key={request.id}>
          <Table.Td>
            <Anchor
              component={Link}
              to={linkTo(request)}
              state={DRAWER_STATE}
              ff="monospace"
              size="sm"
              underline="always"
              style={{ whiteSpace: 'nowrap' }}
              title={request.id}
            >
              req_…{request.id.slice(-SHOWN_DIGITS)}
            </Anchor>
          </Table.Td>
          <Table.Td miw={120}>
            <RequestProgress request={request} />
            {request.status === 'failed' && request.errorCode && (
              <Text size="xs" c="dimmed" title={request.errorMessage ?? undefined}>
                {request.errorCode}
              </Text>
            )}
          </Table.Td>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{request.deployment}</Table.Td>
          <Table.Td>{request.modality}</Table.Td>
          <Table.Td visibleFrom="md" style={{ overflowWrap: 'anywhere' }}>
            {nameSubmitter(request)}
          </Table.Td>
          <Table.Td visibleFrom="md">{describeCharged(request)}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>{describeSize(request)}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            <Timestamp at={request.queuedAt} />
          </Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            {describeSpan(request.startedAt, request.completedAt)}
          </Table.Td>
          <Table.Td>
            {request.status === 'queued' && <CancelRequest request={request} size="compact-sm" />}
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

const describeSize = ({ size, seconds }: RequestView): string =>
  [size, seconds && `${seconds} s`].filter(Boolean).join(' · ') || '–';
