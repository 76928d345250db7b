/** How long something took, for people. Pure. */

/** '–' while either end is not known. */
export function describeSpan(from: string | null, to: string | null): string {
  if (from === null || to === null) return '–';
  const seconds = (Date.parse(to) - Date.parse(from)) / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes} min ${Math.round(seconds % 60)} s`;
}
