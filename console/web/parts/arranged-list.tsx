/** What a person arranges a list by: a field that filters it, and headings that sort it. */
import { Group, Select, Table, type TableThProps, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconArrowDown, IconArrowsSort, IconArrowUp, IconSearch } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import {
  type Column,
  filterRows,
  findNextOrder,
  formatOrder,
  type Order,
  readOrder,
  sortRows,
} from './arrangement.ts';
import { useFilters } from './filters.ts';
import { ScrollTable } from './scroll-table.tsx';

export interface Arrangement<T> {
  rows: T[];
  /** Before the filter. */
  total: number;
  columns: readonly Column<T>[];
  /** ID of the filter's element. */
  fieldId: string;
  filter: string;
  setFilter: (typed: string) => void;
  order: Order | null;
  setOrder: (order: Order | null) => void;
}

interface Arrangeable<T> {
  columns: readonly Column<T>[];
  /** What the filter looks into. */
  textsOf: (row: T) => readonly (string | null)[];
  /** In the address, of a page with several lists. */
  prefix?: string;
}

/** Filter and order are in the address. */
export function useArrangement<T>(
  all: readonly T[],
  { columns, textsOf, prefix = '' }: Arrangeable<T>,
): Arrangement<T> {
  const { search, change } = useFilters();
  const names = { filter: `${prefix}filter`, sort: `${prefix}sort` };
  // The field keeps its own text, since updating the address takes longer than typing.
  const inAddress = search.get(names.filter) ?? '';
  const [filter, setFilter] = useState(inAddress);
  const fieldId = useId();
  useEffect(() => {
    // Changed by a link or by Back, not by this field.
    if (document.activeElement?.id !== fieldId) setFilter(inAddress);
  }, [fieldId, inAddress]);
  const order = readOrder(search.get(names.sort));
  return {
    rows: sortRows(filterRows(all, filter, textsOf), columns, order),
    total: all.length,
    columns,
    fieldId,
    filter,
    setFilter: (typed) => {
      setFilter(typed);
      change({ [names.filter]: typed }, { replace: true });
    },
    order,
    setOrder: (next) => change({ [names.sort]: formatOrder(next) }, { replace: true }),
  };
}

/** `label`: what is filtered. */
export function ListFilter<T>({ label, list }: { label: string; list: Arrangement<T> }) {
  const { fieldId, filter, setFilter, rows, total } = list;
  return (
    <Group gap="sm" flex={1}>
      <TextInput
        id={fieldId}
        type="search"
        aria-label={`Filter ${label}`}
        placeholder="Filter"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
        w={{ base: '100%', xs: 280 }}
      />
      <Text size="sm" c="dimmed" role="status">
        {filter.trim() && `${rows.length} of ${total} shown`}
      </Text>
    </Group>
  );
}

/** The same for lists without columns: each order in its first direction. */
export function ListOrder<T>({ label, list }: { label: string; list: Arrangement<T> }) {
  const { columns, order, setOrder } = list;
  const sorted = columns.find(({ by }) => by === order?.by);
  return (
    <Select
      aria-label={label}
      placeholder="Sort"
      data={columns.map(({ by, label }) => ({ value: by, label }))}
      value={sorted?.by ?? null}
      onChange={(chosen) => {
        const column = columns.find(({ by }) => by === chosen);
        setOrder(column ? findNextOrder(null, column) : null);
      }}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear order' }}
      w={{ base: '100%', xs: 180 }}
    />
  );
}

/** A table with a field that filters it, above it, and headings that sort it. `rest`: columns without sorting. */
export function ArrangedTable<T>(props: {
  label: string;
  minWidth: number;
  list: Arrangement<T>;
  rest?: readonly string[];
  children: (row: T) => ReactNode;
}) {
  const { label, minWidth, list, rest = [], children } = props;
  return (
    <>
      <ListFilter label={label.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase())} list={list} />
      <ScrollTable
        label={label}
        minWidth={minWidth}
        head={
          <>
            {list.columns.map((column) => (
              <SortHeader key={column.by} column={column} list={list} />
            ))}
            {rest.map((name) => (
              <Table.Th key={name} scope="col">
                {name}
              </Table.Th>
            ))}
          </>
        }
      >
        {list.rows.map(children)}
      </ScrollTable>
    </>
  );
}

interface SortHeaderProps<T> extends TableThProps {
  column: Column<T>;
  list: Pick<Arrangement<T>, 'order' | 'setOrder'>;
}

export function SortHeader<T>({ column, list, ...rest }: SortHeaderProps<T>) {
  const { order, setOrder } = list;
  const isSorted = order?.by === column.by;
  const direction = !isSorted ? 'none' : order.isDescending ? 'descending' : 'ascending';
  const Icon = ICONS[direction];
  return (
    <Table.Th scope="col" aria-sort={direction} {...rest}>
      <UnstyledButton className="sort" onClick={() => setOrder(findNextOrder(order, column))}>
        {column.label}
        <Icon size={14} aria-hidden />
      </UnstyledButton>
    </Table.Th>
  );
}

const ICONS = { none: IconArrowsSort, ascending: IconArrowUp, descending: IconArrowDown };
