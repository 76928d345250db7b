/** The status conditions of a deployment. */
import { Badge, Table, Text } from '@mantine/core';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { Timestamp } from '../parts/timestamp.tsx';

export function Conditions({ conditions }: { conditions: Condition[] }) {
  if (conditions.length === 0) return <Text c="dimmed">Not reconciled yet.</Text>;
  return (
    <ScrollTable
      label="Conditions"
      minWidth={640}
      columns={['Condition', 'Status', 'Reason', 'Message', 'Last transition']}
    >
      {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
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
          <Table.Td>{message}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            <Timestamp at={lastTransitionTime ?? null} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
