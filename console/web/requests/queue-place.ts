/** Where a queued request stands, in words. Pure. */
import type { QueuePlaceView } from '../../api.ts';
import { formatAbout } from '../parts/time-format.ts';

const exact = (count: number): string => count.toLocaleString('en');

/** Such as "Position 3 of 40, starts in about 2 min". */
export function describePlace({ position, queued, startsInMs }: QueuePlaceView): string {
  if (position === null) return queued === 1 ? '1 request is queued' : `${exact(queued)} requests are queued`;
  const place = `Position ${exact(position)} of ${exact(queued)}`;
  return startsInMs === null ? place : `${place}, starts in about ${formatAbout(startsInMs)}`;
}
