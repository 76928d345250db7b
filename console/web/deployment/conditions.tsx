/** What the operator says of a deployment. */
import { Badge, Table, Text } from '@mantine/core';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { Moment } from '../parts/moment.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';

const WORDS: Record<string, string> = { True: 'yes', False: 'no' };

export function Conditions({ conditions }: { conditions: Condition[] }) {
  if (conditions.length === 0) return <Text c="dimmed">The operator has not looked at it yet.</Text>;
  return (
    <ScrollTable
      label="Conditions"
      minWidth={640}
      columns={['Condition', 'Holds', 'Reason', 'Message', 'Since']}
    >
      {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
        <Table.Tr key={type}>
          <Table.Th scope="row" fw={500}>
            {type}
          </Table.Th>
          <Table.Td>
            <Badge variant="default" tt="none">
              {WORDS[status] ?? 'unknown'}
            </Badge>
          </Table.Td>
          <Table.Td>{reason}</Table.Td>
          <Table.Td>{message}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            <Moment at={lastTransitionTime ?? null} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
