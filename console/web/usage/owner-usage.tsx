/** Usage and cost of each owner of keys; nothing where no key has an owner. */
import { Table } from '@mantine/core';
import type { KeyUsageView } from '../../api.ts';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { sumByOwner } from './key-usage-rows.ts';

const COLUMNS = ['Owner', 'Requests', 'Tokens', 'Cost'];

export function OwnerUsage({ rows }: { rows: readonly KeyUsageView[] }) {
  const totals = sumByOwner(rows);
  if (totals.length === 0) return null;
  return (
    <ScrollTable label="Usage by owner" minWidth={420} columns={COLUMNS}>
      {totals.map(({ owner, requests, tokens, cost }) => (
        <Table.Tr key={owner ?? ''}>
          <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
            {owner ?? 'no owner'}
          </Table.Th>
          <Table.Td>{requests.toLocaleString('en')}</Table.Td>
          <Table.Td>{tokens.toLocaleString('en')}</Table.Td>
          <Table.Td>{cost}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
