/** Descriptions of changes and events. Pure. */
import type { ChangesView } from '../../api.ts';

type Entry = ChangesView['entries'][number];

/** Such as “by anna, via the console”, or the program. */
export function describeAuthor(entry: Entry): string {
  if (entry.type === 'event') return entry.program || 'Kubernetes';
  return entry.user === null ? entry.program : `by ${entry.user}, via the console`;
}

export function describeEntry(entry: Entry): string {
  if (entry.type === 'change') return entry.isCreation ? 'created' : entry.fields.join(', ');
  const times = entry.count > 1 ? ` (${entry.count} times)` : '';
  return `${entry.reason}: ${entry.message}${times}`;
}
