/** A relative time such as "3 min ago", with the full time in a tooltip or before it. */
import { Tooltip } from '@mantine/core';
import { useEffect, useReducer } from 'react';
import { formatDateTime } from './time-format.ts';

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** How often the text is updated. */
const TICK_INTERVAL_MS = 10_000;

interface TimestampProps {
  at: string | null;
  /** Shows the full time as well. */
  isFull?: boolean;
}

export function Timestamp({ at, isFull = false }: TimestampProps) {
  const [, tick] = useReducer((ticks: number) => ticks + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, TICK_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return <>–</>;
  const date = new Date(at);
  const full = formatDateTime(date);
  const relative = describe((date.getTime() - Date.now()) / 1000);
  if (isFull)
    return (
      <time dateTime={at}>
        {full} ({relative})
      </time>
    );
  return (
    <Tooltip label={full}>
      <time dateTime={at}>{relative}</time>
    </Tooltip>
  );
}

function describe(seconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1)!;
  // Without the period of "1 min. ago": units have none elsewhere.
  return format.format(Math.round(seconds / length), unit).replace('.', '');
}
