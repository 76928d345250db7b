/** What changed in the namespace, by which program and when. */
import { Table, Text } from '@mantine/core';
import type { ChangesView } from '../../api.ts';
import { Moment } from '../parts/moment.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';

const COLUMNS = ['When', 'Program', 'Object', 'Change'];

export function Changes({ changes }: ChangesView) {
  return (
    <>
      <Text size="sm" c="dimmed" maw="48rem">
        What each program wrote last to each object that still exists. Kubernetes records no names of people
        here: they are in the audit log of the API server, and in the console's log for changes made here.
      </Text>
      {changes.length === 0 ? (
        <Text>Nothing was changed yet.</Text>
      ) : (
        <ScrollTable label="Recent changes" minWidth={640} columns={COLUMNS}>
          {changes.map((change) => (
            <ChangeRow
              key={`${change.kind} ${change.object} ${change.manager} ${change.at}`}
              change={change}
            />
          ))}
        </ScrollTable>
      )}
    </>
  );
}

function ChangeRow({ change }: { change: ChangesView['changes'][number] }) {
  const { at, manager, kind, object, isCreation, fields } = change;
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={at} />
      </Table.Td>
      <Table.Td>{manager}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {kind} {object}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{isCreation ? 'created' : fields.join(', ')}</Table.Td>
    </Table.Tr>
  );
}
