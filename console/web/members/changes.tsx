/** What changed in the namespace: who wrote what, and what the operator and Kubernetes noted. */
import { Badge, SegmentedControl, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { ChangesView } from '../../api.ts';
import { Moment } from '../parts/moment.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { describeAuthor, describeEntry } from './change-text.ts';

const COLUMNS = ['When', 'Who', 'Object', 'What'];
const CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'change', label: 'Changes' },
  { value: 'event', label: 'Events' },
];

export function Changes({ entries, hasEvents }: ChangesView) {
  const [choice, setChoice] = useState('all');
  const shown = entries.filter(({ type }) => choice === 'all' || type === choice);
  return (
    <>
      <Text size="sm" c="dimmed" maw="48rem">
        What each program, and each user of this console, wrote last to each object that still exists
        {hasEvents && ', and what the operator noted about them in the last hour'}. For information: programs
        name themselves. What proves who did it is the audit log of the API server.
      </Text>
      {hasEvents && (
        <SegmentedControl
          data={CHOICES}
          value={choice}
          onChange={setChoice}
          size="xs"
          aria-label="Kind of entries"
          style={{ alignSelf: 'flex-start' }}
        />
      )}
      {shown.length === 0 ? (
        <Text>{choice === 'event' ? 'No events in the last hour.' : 'No changes yet.'}</Text>
      ) : (
        <ScrollTable label="Recent changes" minWidth={640} columns={COLUMNS}>
          {shown.map((entry) => (
            <EntryRow key={JSON.stringify(entry)} entry={entry} />
          ))}
        </ScrollTable>
      )}
    </>
  );
}

function EntryRow({ entry }: { entry: ChangesView['entries'][number] }) {
  const isWarning = entry.type === 'event' && entry.isWarning;
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={entry.at} />
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{describeAuthor(entry)}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {entry.kind} {entry.object}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} maw={480}>
        {isWarning && (
          <Badge color="yellow" variant="light" tt="none" size="sm" mr={4}>
            warning
          </Badge>
        )}
        {describeEntry(entry)}
      </Table.Td>
    </Table.Tr>
  );
}
