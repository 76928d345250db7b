/** Searches a deployment's requests for those of some API keys, newest first. */
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS, SIGNATURES } from '../function-table.ts';
import {
  type ChargedRecord,
  describeTimes,
  indexesOf,
  type RequestQuery,
  readListed,
} from './request-record.ts';

/** Limit per search: names of API keys, and digits of their hashes. */
export const MAX_SUBMITTERS = SIGNATURES.search.rest.most;
/** Requests that one call examines (decision 0324). */
export const SEARCHED_AT_ONCE = LIMITS.MAX_SEARCHED;
const MICROS_PER_MS = 1_000;

export interface SearchQuery extends Omit<RequestQuery, 'order'> {
  /** Names of API keys as records have them, or the first 24 digits of their SHA-256; at most MAX_SUBMITTERS. */
  submitters: readonly string[];
}

export interface SearchResult {
  records: ChargedRecord[];
  /** The last request that was examined, and when (Unix milliseconds) it was queued; null: nothing is left. */
  reached: { id: string; at: number } | null;
}

/** Those of the next SEARCHED_AT_ONCE requests that are from these submitters; at most `limit`. */
export async function searchRequests(redis: RedisClient, query: SearchQuery): Promise<SearchResult> {
  const { namespace, limit, after = '', submitters } = query;
  const args = { namespace, limit, after, ...describeTimes(query) };
  const [last, micros, ...ids] = await callFunction(redis, 'search', indexesOf(query), args, submitters);
  return {
    records: await readListed(redis, query, ids),
    reached: last === '' ? null : { id: last, at: Number(micros) / MICROS_PER_MS },
  };
}
