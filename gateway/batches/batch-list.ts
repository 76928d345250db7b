/** Lists of files and batches, as OpenAI's SDKs page through them: `after`, `limit`, `order`. */

import type { RedisClient } from '../../redis/client.ts';
import { callFunction, LIMITS } from '../../redis/function-table.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { readLimit } from '../jobs/list-limit.ts';

export interface PageQuery {
  limit: number;
  order: 'asc' | 'desc';
  after: string;
}

export const DEFAULT_PAGE = 20;
export const MAX_PAGE = 100;

/** `id`: what `after` must look like. Throws ApiError. */
export function readPageQuery(url: string, id: RegExp): PageQuery {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  const limit = readLimit(query, { fallback: DEFAULT_PAGE, max: MAX_PAGE });
  const order = query.get('order') || 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw refuseParameter('invalid_value', 'order', '`order` must be asc or desc.');
  const after = query.get('after') || '';
  if (after !== '' && !id.test(after))
    throw refuseParameter('invalid_value', 'after', '`after` must be the id of the last object of a page.');
  return { limit, order, after };
}

interface PageSource<T> {
  redis: RedisClient;
  /** Key of the sorted set of ids. */
  index: string;
  read: (ids: readonly string[]) => Promise<(T | null)[]>;
}

/** Ids that are read at once, beyond which a page is looked for no further than MAX_ROUNDS times. */
const ROUND = 100;
const MAX_ROUNDS = 20;

/** Passes over objects that have expired: SDKs take an empty page for the last. */
export async function readPage<T extends { id: string }, Shown>(
  { redis, index, read }: PageSource<T>,
  { limit, order, after }: PageQuery,
  show: (object: T) => Shown,
) {
  const found: T[] = [];
  let last = after;
  let isMore = true;
  for (let round = 0; round < MAX_ROUNDS && isMore && found.length <= limit; round++) {
    const args = { limit: ROUND, order, after: last, since: '', before: '' };
    const ids = await callFunction(redis, 'list', [index], args);
    isMore = ids.length === ROUND;
    last = ids.at(-1) ?? last;
    for (let at = 0; at < ids.length && found.length <= limit; at += LIMITS.READ_AT_ONCE)
      found.push(...(await read(ids.slice(at, at + LIMITS.READ_AT_ONCE))).filter((each) => each !== null));
  }
  const shown = found.slice(0, limit);
  return {
    object: 'list' as const,
    data: shown.map(show),
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
}
