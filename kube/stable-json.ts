/** JSON with sorted keys: equal for values that are equal, however they were made. */
export const stableStringify = (value: unknown): string => JSON.stringify(sortKeys(value)) ?? '';

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  // Without a prototype any key is a plain one.
  const sorted: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value).sort()) sorted[name] = sortKeys((value as typeof sorted)[name]);
  return sorted;
}
