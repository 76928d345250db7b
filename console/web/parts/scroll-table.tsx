/** A table that scrolls horizontally on narrow screens, also by keyboard; its first column stays. */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface ScrollTableProps {
  label: string;
  minWidth: number;
  /** Without them, `head`: the headings' cells. */
  columns?: ReactNode[];
  head?: ReactNode;
  /** Rows. */
  children: ReactNode;
}

export function ScrollTable({ label, minWidth, columns = [], head, children }: ScrollTableProps) {
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      type="native"
      className="scroll-table"
      role="region"
      aria-label={`${label} (scrollable)`}
      tabIndex={0}
    >
      <Table verticalSpacing="xs" highlightOnHover aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {head}
            {columns.map((column, index) => (
              // The columns of a table never change.
              // biome-ignore lint/suspicious/noArrayIndexKey: see above
              <Table.Th key={index} scope="col">
                {column}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
