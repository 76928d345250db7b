/** What each key used of each model on each day, and what it cost: as a table, and as CSV to download. */
import { Button, Group, Stack, Table, Text, Title } from '@mantine/core';
import type { KeyUsageView } from '../../api.ts';
import { locate, routes } from '../../routes.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded } from '../parts/page.tsx';
import { findDays, nameKey } from './key-usage-rows.ts';
import { OwnerUsage } from './owner-usage.tsx';

/** They are written by gateways each 10 s, and cost a read for each deployment and day. */
const INTERVAL_MS = 60_000;
/** More would make the page slow: the filter and the CSV have them all. */
const MAX_SHOWN = 200;

interface KeyUsageProps {
  /** '' = all. */
  deployment: string;
  range: string;
}

export function KeyUsage({ deployment, range }: KeyUsageProps) {
  const namespace = useNamespace();
  const { from, to } = findDays(range, Date.now());
  const wanted = { deployment, from, to };
  const query = useRead(routes.listKeyUsage, wanted, { refetchInterval: INTERVAL_MS });
  return (
    <Stack component="section" gap="sm" aria-label="Usage by key" miw={0}>
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={2} size="h4">
            By key, model and day
          </Title>
          <Text size="sm" c="dimmed">
            {from === to ? from : `${from} to ${to}`}; days in UTC.
          </Text>
        </div>
        <Button
          component="a"
          href={locate(routes.listKeyUsage, { namespace, ...wanted, format: 'csv' })}
          download
          variant="default"
          size="sm"
        >
          Download CSV
        </Button>
      </Group>
      <Loaded query={query}>
        {(rows) => (
          <>
            <OwnerUsage rows={rows} />
            <KeyUsageTable rows={rows} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

const COLUMNS: readonly Column<KeyUsageView>[] = [
  { by: 'key', label: 'Key', value: nameKey },
  { by: 'owner', label: 'Owner', value: ({ owner }) => owner },
  { by: 'day', label: 'Day', value: ({ day }) => day, isLargestFirst: true },
  { by: 'deployment', label: 'Deployment', value: ({ deployment }) => deployment },
  { by: 'model', label: 'Model', value: ({ model }) => model },
  { by: 'requests', label: 'Requests', value: ({ requests }) => requests, isLargestFirst: true },
  { by: 'input', label: 'Input tokens', value: ({ inputTokens }) => inputTokens, isLargestFirst: true },
  { by: 'output', label: 'Output tokens', value: ({ outputTokens }) => outputTokens, isLargestFirst: true },
  { by: 'cost', label: 'Cost', value: ({ cost }) => Number(cost), isLargestFirst: true },
];

const textsOf = (row: KeyUsageView) => [nameKey(row), row.owner, row.day, row.deployment, row.model];

function KeyUsageTable({ rows }: { rows: KeyUsageView[] }) {
  const list = useArrangement(rows, { columns: COLUMNS, textsOf, prefix: 'keys-' });
  if (rows.length === 0) return <Text c="dimmed">No usage in this period.</Text>;
  const shown = list.rows.slice(0, MAX_SHOWN);
  return (
    <>
      <ArrangedTable label="Usage by key, model and day" minWidth={860} list={{ ...list, rows: shown }}>
        {(row) => <KeyUsageRow key={`${row.day} ${row.deployment} ${row.keyHash}`} row={row} />}
      </ArrangedTable>
      {list.rows.length > shown.length && (
        <Text size="sm" c="dimmed">
          The first {MAX_SHOWN} of {list.rows.length.toLocaleString('en')} rows. Filter them, or download the
          CSV.
        </Text>
      )}
    </>
  );
}

function KeyUsageRow({ row }: { row: KeyUsageView }) {
  const { owner, day, deployment, model, requests, inputTokens, outputTokens, cost } = row;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
        {nameKey(row)}
      </Table.Th>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{owner ?? '–'}</Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>{day}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{deployment}</Table.Td>
      <Table.Td ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        {model ?? '–'}
      </Table.Td>
      {[requests, inputTokens, outputTokens].map((count, index) => (
        // The columns of a table never change.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Table.Td key={index}>{count.toLocaleString('en')}</Table.Td>
      ))}
      <Table.Td>{cost}</Table.Td>
    </Table.Tr>
  );
}
