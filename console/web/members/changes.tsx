/** What changed in the namespace: who wrote what, and what the operator and Kubernetes noted. */
import { Badge, SegmentedControl, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { ChangesView } from '../../api.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Timestamp } from '../parts/timestamp.tsx';
import { describeAuthor, describeEntry } from './change-text.ts';

type Entry = ChangesView['entries'][number];

const COLUMNS: readonly Column<Entry>[] = [
  { by: 'time', label: 'Time', value: ({ at }) => at, isLargestFirst: true },
  { by: 'who', label: 'Who', value: describeAuthor },
  { by: 'object', label: 'Object', value: ({ kind, object }) => `${kind} ${object}` },
  { by: 'what', label: 'What', value: describeEntry },
];

const textsOf = (entry: Entry) => [
  describeAuthor(entry),
  `${entry.kind} ${entry.object}`,
  describeEntry(entry),
];

const CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'change', label: 'Changes' },
  { value: 'event', label: 'Events' },
];

export function Changes({ entries, hasEvents }: ChangesView) {
  const [choice, setChoice] = useState('all');
  const shown = entries.filter(({ type }) => choice === 'all' || type === choice);
  const list = useArrangement(shown, { columns: COLUMNS, textsOf, prefix: 'changes-' });
  return (
    <>
      <Text size="sm" c="dimmed" maw="48rem">
        The last change of each program and of each user of this console to each existing object
        {hasEvents && ', and the events of the last hour'}. Programs name themselves: for proof, see the audit
        log of the API server.
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
        <ArrangedTable label="Recent changes" minWidth={640} list={list}>
          {(entry) => <EntryRow key={JSON.stringify(entry)} entry={entry} />}
        </ArrangedTable>
      )}
    </>
  );
}

function EntryRow({ entry }: { entry: Entry }) {
  const isWarning = entry.type === 'event' && entry.isWarning;
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={entry.at} />
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
