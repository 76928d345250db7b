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

/** A few objects may be missing of a page: they have expired. */
export async function readPage<T extends { id: string }, Shown>(
  { redis, index, read }: PageSource<T>,
  { limit, order, after }: PageQuery,
  show: (object: T) => Shown,
) {
  const args = { limit: limit + 1, order, after, since: '', before: '' };
  const ids = await callFunction(redis, 'list', [index], args);
  const shown = ids.slice(0, limit);
  const found: T[] = [];
  for (let at = 0; at < shown.length; at += LIMITS.READ_AT_ONCE)
    found.push(...(await read(shown.slice(at, at + LIMITS.READ_AT_ONCE))).filter((each) => each !== null));
  return {
    object: 'list' as const,
    data: found.map(show),
    first_id: shown[0] ?? null,
    last_id: shown.at(-1) ?? null,
    has_more: ids.length > limit,
  };
}
