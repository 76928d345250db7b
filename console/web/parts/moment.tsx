/** A time as people read it: "3 min ago", the full one on hover. */
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

/** So old may be what is shown. */
const TICK_MS = 10_000;

export function Moment({ at }: { at: string | null }) {
  const [, tick] = useReducer((ticks: number) => ticks + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return <>–</>;
  const date = new Date(at);
  return (
    <Tooltip label={formatDateTime(date)}>
      <time dateTime={at}>{describe((date.getTime() - Date.now()) / 1000)}</time>
    </Tooltip>
  );
}

function describe(seconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1)!;
  return format.format(Math.round(seconds / length), unit);
}
