/** The order and the filter of a list that the page has as a whole. Pure. */

/** null comes last in either direction. */
export type SortValue = string | number | null;

export interface Column<T> {
  /** Its name in the address. */
  by: string;
  label: string;
  value: (row: T) => SortValue;
  /** The first click shows the largest: of counts and times. */
  isLargestFirst?: boolean;
}

export interface Order {
  by: string;
  isDescending: boolean;
}

/** As in the address: `name`, or `-name` descending. */
export const formatOrder = (order: Order | null): string | null =>
  order && `${order.isDescending ? '-' : ''}${order.by}`;

export function readOrder(text: string | null): Order | null {
  if (!text) return null;
  const isDescending = text.startsWith('-');
  return { by: isDescending ? text.slice(1) : text, isDescending };
}

/** After a click on a column's heading: its order, then the reverse, then that of the server again. */
export function findNextOrder(
  order: Order | null,
  { by, isLargestFirst = false }: Pick<Column<never>, 'by' | 'isLargestFirst'>,
): Order | null {
  if (order?.by !== by) return { by, isDescending: isLargestFirst };
  return order.isDescending === isLargestFirst ? { by, isDescending: !isLargestFirst } : null;
}

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
}

export function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], order: Order | null): T[] {
  const value = columns.find(({ by }) => by === order?.by)?.value;
  if (!order || !value) return [...rows];
  const sign = order.isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return sign * compare(first, second);
  });
}

/** Those whose texts contain each word of the filter, case-insensitively. */
export function filterRows<T>(
  rows: readonly T[],
  filter: string,
  textsOf: (row: T) => readonly (string | null)[],
): T[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const text = textsOf(row).join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
