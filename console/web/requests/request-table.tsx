/** Requests, one a row. */
import { Anchor, Table } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { RequestView } from '../../api.ts';
import { call } from '../call.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { Moment } from '../parts/moment.tsx';
import { Fault } from '../parts/page-states.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { useAccess, useBase } from '../session.ts';
import { describeSpan } from './duration.ts';
import { RequestProgress } from './progress.tsx';

const COLUMNS = ['Request', 'Deployment', 'Kind', 'Status', 'Size', 'Queued', 'Took', 'Actions'];
/** The last ones: requests of the same minute begin alike. */
const SHOWN_DIGITS = 8;

interface RequestTableProps {
  requests: RequestView[];
  onChoose: (request: RequestView) => void;
}

export function RequestTable({ requests, onChoose }: RequestTableProps) {
  const base = useBase();
  const cache = useQueryClient();
  const { cancelRequests } = useAccess();
  const cancel = useMutation({
    mutationFn: ({ deployment, id }: RequestView) =>
      call('POST', `${base}/requests/${encodeURIComponent(deployment)}/${encodeURIComponent(id)}/cancel`),
    onSettled: () => cache.invalidateQueries({ queryKey: [base, 'requests'] }),
  });
  return (
    <>
      {cancel.error && <Fault error={cancel.error} />}
      <ScrollTable label="Requests" minWidth={860} columns={COLUMNS}>
        {requests.map((request) => (
          <Table.Tr key={request.id}>
            <Table.Td>
              <Anchor
                component="button"
                type="button"
                ff="monospace"
                size="sm"
                underline="always"
                title={request.id}
                onClick={() => onChoose(request)}
              >
                req_…{request.id.slice(-SHOWN_DIGITS)}
              </Anchor>
            </Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{request.deployment}</Table.Td>
            <Table.Td>{request.modality}</Table.Td>
            <Table.Td miw={120}>
              <RequestProgress request={request} />
            </Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>{describeSize(request)}</Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              <Moment at={request.queuedAt} />
            </Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              {describeSpan(request.startedAt, request.completedAt)}
            </Table.Td>
            <Table.Td>
              {request.status === 'queued' && (
                <AllowedButton
                  isAllowed={cancelRequests}
                  reason="You may not cancel requests in this namespace."
                  size="compact-sm"
                  variant="default"
                  loading={cancel.isPending && cancel.variables.id === request.id}
                  onClick={() => cancel.mutate(request)}
                  aria-label={`Cancel ${request.id}`}
                >
                  Cancel
                </AllowedButton>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </>
  );
}

const describeSize = ({ size, seconds }: RequestView): string =>
  [size, seconds && `${seconds} s`].filter(Boolean).join(' · ') || '–';
