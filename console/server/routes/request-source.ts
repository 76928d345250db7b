/** Pages of a deployment's requests, with limits on how far a search goes. */
import type { RedisClient } from '../../../redis/client.ts';
import {
  type ChargedRecord,
  listRequests,
  type RequestQuery,
} from '../../../redis/requests/request-record.ts';
import { SEARCHED_AT_ONCE, searchRequests } from '../../../redis/requests/request-search.ts';
import type { Source } from '../views/newest.ts';

/** Requests that one list examines, of all deployments; the next page continues from there. */
const MAX_SEARCHED = 5_000;

/** What each of so many sources may examine. */
export const shareBudget = (sources: number): number =>
  Math.max(SEARCHED_AT_ONCE, Math.floor(MAX_SEARCHED / Math.max(1, sources)));

export interface RequestSource extends Source<ChargedRecord> {
  deployment: string;
  /** The ID after which the next page starts, `last` being the last request shown; undefined: as for this page. */
  endAfter(last: ChargedRecord | undefined): string | undefined;
}

interface SourceOptions {
  query: Omit<RequestQuery, 'limit' | 'order' | 'after'>;
  after: string | undefined;
  /** null: everyone's. */
  submitters: readonly string[] | null;
  budget: number;
}

export function openSource(
  redis: RedisClient,
  { query, after, submitters, budget }: SourceOptions,
): RequestSource {
  let reached = after;
  let found: string | undefined;
  let left = budget;
  let stoppedAt: number | null = null;

  const list = async (limit: number): Promise<ChargedRecord[]> => {
    const records = await listRequests(redis, { ...query, limit, ...(reached && { after: reached }) });
    reached = records.at(-1)?.id ?? reached;
    return records;
  };
  const search = async (wanted: readonly string[], limit: number): Promise<ChargedRecord[]> => {
    const records: ChargedRecord[] = [];
    for (; left > 0; left -= SEARCHED_AT_ONCE) {
      const asked = { ...query, limit: limit - records.length, submitters: wanted };
      const result = await searchRequests(redis, { ...asked, ...(reached && { after: reached }) });
      records.push(...result.records);
      stoppedAt = result.reached?.at ?? null;
      reached = result.reached?.id ?? reached;
      if (result.reached === null || records.length >= limit) break;
    }
    return records;
  };
  return {
    deployment: query.deployment,
    read: async (limit) => {
      const records = await (submitters === null ? list(limit) : search(submitters, limit));
      found = records.at(-1)?.id ?? found;
      return records;
    },
    stoppedAt: () => stoppedAt,
    // What was read but not shown is read again.
    endAfter: (last) => (last?.id === found ? reached : last?.id),
  };
}
