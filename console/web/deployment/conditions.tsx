/** The status conditions of a deployment. */
import { Badge, Stack, Table, Text } from '@mantine/core';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Timestamp } from '../parts/timestamp.tsx';
import { MessageText } from './facts.tsx';

const COLUMNS: readonly Column<Condition>[] = [
  { by: 'type', label: 'Condition', value: ({ type }) => type },
  { by: 'status', label: 'Status', value: ({ status }) => status },
  { by: 'reason', label: 'Reason', value: ({ reason }) => reason },
  { by: 'message', label: 'Message', value: ({ message }) => message },
  {
    by: 'transition',
    label: 'Last transition',
    value: ({ lastTransitionTime }) => lastTransitionTime ?? null,
    isLargestFirst: true,
  },
];
const textsOf = ({ type, status, reason, message }: Condition) => [type, status, reason, message];

export function Conditions({ conditions }: { conditions: Condition[] }) {
  const list = useArrangement(conditions, { columns: COLUMNS, textsOf, prefix: 'condition-' });
  if (conditions.length === 0) return <Text c="dimmed">Not reconciled yet.</Text>;
  return (
    <Stack gap="sm">
      <ArrangedTable label="Conditions" minWidth={640} list={list}>
        {({ type, status, reason, message, lastTransitionTime }) => (
          <Table.Tr key={type}>
            <Table.Th scope="row" fw={500}>
              {type}
            </Table.Th>
            <Table.Td>
              <Badge variant="default" tt="none">
                {status}
              </Badge>
            </Table.Td>
            <Table.Td>{reason}</Table.Td>
            <Table.Td>
              <MessageText>{message}</MessageText>
            </Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              <Timestamp at={lastTransitionTime ?? null} />
            </Table.Td>
          </Table.Tr>
        )}
      </ArrangedTable>
    </Stack>
  );
}
