/** Formats of times and durations. Pure. */

const dateTime = new Intl.DateTimeFormat('en-US', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

/** Such as "Nov 22, 2026, 05:18:09", in local time. */
export const formatDateTime = (date: Date): string => dateTime.format(date);

/** The label of a chart step, with the date if steps are an hour or more. */
export const formatStep = (date: Date, stepSeconds: number): string =>
  date.toLocaleString('en-US', {
    hourCycle: 'h23',
    ...(stepSeconds >= 3_600 && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
  });

/** Such as "15 min": of chart steps. */
export const formatLength = (seconds: number): string =>
  seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;

/** As durations of a status, such as "1m30s", are shown: "1 min 30 s". */
export const spellDuration = (text: string): string =>
  text.replace(/(\d)(ms|s|m|h)(?=(\d?))/g, (_, digit: string, unit: string, next: string) => {
    return `${digit} ${unit === 'm' ? 'min' : unit}${next && ' '}`;
  });

/** '–' while either end is unknown. */
export function describeSpan(from: string | null, to: string | null): string {
  if (from === null || to === null) return '–';
  const tenths = Math.round((Date.parse(to) - Date.parse(from)) / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(tenths / 10);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A length that is not known exactly, in its largest unit, such as "3 min"; at least a second. */
export function formatAbout(milliseconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => milliseconds >= 1.5 * each) ?? UNITS.at(-1)!;
  return `${Math.max(1, Math.round(milliseconds / length))} ${unit}`;
}
