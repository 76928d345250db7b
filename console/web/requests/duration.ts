/** How long something took, for people. Pure. */

/** '–' while either end is not known. */
export function describeSpan(from: string | null, to: string | null): string {
  if (from === null || to === null) return '–';
  const tenths = Math.round((Date.parse(to) - Date.parse(from)) / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(tenths / 10);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
