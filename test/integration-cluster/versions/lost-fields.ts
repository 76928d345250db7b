/** What an API server drops without a word: fields of a feature that is off, which its schema knows. */

/** Paths of what was sent and is not in what was stored. Empty values may be omitted, and lists merged. */
export function findLostFields(sent: unknown, stored: unknown, path = ''): string[] {
  if (isEmpty(sent)) return [];
  if (Array.isArray(sent)) {
    const items = Array.isArray(stored) ? stored : [];
    return sent.flatMap((item, index) => findLeastLost(item, items, `${path}[${index}]`));
  }
  if (typeof sent !== 'object') return isEmpty(stored) ? [path] : [];
  if (typeof stored !== 'object' || stored === null) return [path];
  return Object.entries(sent as object)
    .filter(([key]) => key !== WRITE_ONLY)
    .flatMap(([key, value]) =>
      findLostFields(value, (stored as Record<string, unknown>)[key], path ? `${path}.${key}` : key),
    );
}

/** Field of a Secret that is stored as `data`. */
const WRITE_ONLY = 'stringData';

const isEmpty = (value: unknown): boolean =>
  !value || (typeof value === 'object' && Object.keys(value).length === 0);

/** The stored item is the one that has most of it. */
function findLeastLost(item: unknown, items: unknown[], path: string): string[] {
  if (typeof item !== 'object') return items.includes(item) ? [] : [path];
  const losses = items.map((each) => findLostFields(item, each, path));
  return losses.reduce((least, each) => (each.length < least.length ? each : least), losses[0] ?? [path]);
}
