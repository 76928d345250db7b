/** A time as people read it: "3 min ago", the full one on hover. */
import { Tooltip } from '@mantine/core';

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

export function Moment({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const date = new Date(at);
  return (
    <Tooltip label={date.toLocaleString()}>
      <time dateTime={at}>{describe((date.getTime() - Date.now()) / 1000)}</time>
    </Tooltip>
  );
}

function describe(seconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1)!;
  return format.format(Math.round(seconds / length), unit);
}
