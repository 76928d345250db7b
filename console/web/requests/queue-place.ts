/** Where a queued request stands, in words. Pure. */
import type { QueuePlaceView } from '../../api.ts';
import { formatAbout } from '../parts/time-format.ts';

const exact = (count: number): string => count.toLocaleString('en');

/** Such as "Position 3 of 40, starts in about 2 min". */
export function describePlace({ position, queued, startsInMs }: QueuePlaceView): string {
  if (position === null) return `${exact(queued)} requests are queued`;
  // Requests that lost their replica come first, and are none of the queued ones.
  const place = `Position ${exact(position)} of ${exact(Math.max(position, queued))}`;
  return startsInMs === null ? place : `${place}, starts in about ${formatAbout(startsInMs)}`;
}
