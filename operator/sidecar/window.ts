/** Whether a maintenance window is open. Pure. */
import { type RolloutWindow, WEEKDAYS, type Weekday } from './settings.ts';

/** `now` in Unix milliseconds; without a window it is always open. Daylight saving time shifts it as it shifts the day. */
export function isWindowOpen(window: RolloutWindow | undefined, now: number): boolean {
  if (!window) return true;
  const { day, minute } = readLocalTime(now, window.timeZone);
  const opensOn = (weekday: Weekday) => window.days.includes(weekday);
  if (window.from < window.to) return opensOn(day) && minute >= window.from && minute < window.to;
  // After midnight it is still the previous day's window.
  return (opensOn(day) && minute >= window.from) || (opensOn(dayBefore(day)) && minute < window.to);
}

const dayBefore = (day: Weekday): Weekday => WEEKDAYS[(WEEKDAYS.indexOf(day) + 6) % 7]!;

function readLocalTime(now: number, timeZone: string): { day: Weekday; minute: number } {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return { day: parts.weekday as Weekday, minute: Number(parts.hour) * 60 + Number(parts.minute) };
}
