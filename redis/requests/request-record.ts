/**
 * Reads records of requests. Fronts and the console do so for every workspace, whose Redis user may write anything there:
 * nothing longer than what the functions write is read.
 */

import { workKeys } from '../../api/redis-keys.ts';
import {
  type FailureCode,
  MAX_MESSAGE_LENGTH,
  type Modality,
  REQUEST_ID,
  type RequestOutput,
  type RequestRecord,
  type RequestStatus,
} from '../../api/request.ts';
import { MAX_SEALED_PARAMS_LENGTH, MAX_SEALED_PROMPT_LENGTH } from '../../api/sealed-request.ts';
import { findJsonFault } from '../../kit/json-cost.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS, nameShown, type Replies } from '../function-table.ts';
import { parseCount } from '../untrusted-values.ts';
import { decodeCharge, type RequestCharge } from './request-charge.ts';
import { decodeReplays, type RequestReplays } from './request-replays.ts';

const { ID_LENGTH, MAX_MARKER_BYTES, READ_AT_ONCE } = LIMITS;
const MICROS_PER_MS = 1_000;

/** A record as the functions keep it; see `RequestRecord`. */
export function decodeRecord(
  id: string,
  fields: Record<string, string | undefined>,
  result: string,
): RequestRecord {
  return {
    id,
    deployment: fields.deployment!,
    registrationId: parseCount(fields.registration_id) ?? 0,
    modality: fields.modality as Modality,
    status: fields.status as RequestStatus,
    model: fields.model ?? '',
    size: fields.size ?? '',
    seconds: fields.seconds ?? '',
    progress: parseCount(fields.progress) ?? 0,
    queuedAt: parseCount(fields.queued_at) ?? 0,
    startedAt: parseCount(fields.started_at),
    completedAt: parseCount(fields.completed_at),
    output: fields.status === 'succeeded' && result ? readOutput(result) : null,
    errorCode: (fields.error_code || null) as FailureCode | null,
    errorMessage: fields.status === 'failed' && result.length <= MAX_MESSAGE_LENGTH ? result : null,
  };
}

/** For a request's maximum of a hundred keys, with a margin; in `findJsonFault`'s bytes. */
const MAX_VALUES_COST = 16 * 1024;

/** The locations of a request's files, from a text that a tenant may have written; null if invalid. */
function readOutput(text: string): RequestOutput | null {
  if (findJsonFault(Buffer.from(text), MAX_VALUES_COST) !== null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isOutput(value) ? value : null;
  } catch {
    return null;
  }
}

function isOutput(value: unknown): value is RequestOutput {
  if (typeof value !== 'object' || value === null) return false;
  const { bucket, keys, credential, provider, retentionMs } = value as Partial<RequestOutput>;
  return (
    typeof bucket === 'string' &&
    Array.isArray(keys) &&
    keys.every((key) => typeof key === 'string') &&
    (credential === null || typeof credential === 'string') &&
    (provider === null || typeof provider === 'string') &&
    (retentionMs === null || Number.isFinite(retentionMs))
  );
}

/** A record, and who pays for it. */
export interface ChargedRecord extends RequestRecord {
  /** null if not in the record. */
  charge: RequestCharge | null;
  /** The request that it repeats, and the latest that repeats it; null: none. */
  retryOf: string | null;
  retriedAs: string | null;
  /** null: it was not asked for again by its idempotency key. */
  replays: RequestReplays | null;
}

const readId = (text: string | undefined): string | null =>
  text !== undefined && REQUEST_ID.test(text) ? text : null;

export function decodeShown(id: string, shown: Replies['read'][number]): ChargedRecord | null {
  if (!shown) return null;
  const fields = nameShown(shown);
  return {
    ...decodeRecord(id, fields, fields.result ?? ''),
    charge: decodeCharge(fields),
    replays: decodeReplays(fields),
    retryOf: readId(fields.retry_of),
    retriedAs: readId(fields.retried_as),
  };
}

/** A request of this workspace, of any deployment; null when unknown or expired. */
export async function readRequest(
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<ChargedRecord | null> {
  const [record = null] = await readRequests(redis, namespace, [id]);
  return record;
}

async function readRequests(
  redis: RedisClient,
  namespace: string,
  ids: readonly string[],
): Promise<(ChargedRecord | null)[]> {
  const key = workKeys(namespace).request(ids[0]!);
  const shown = await callFunction(redis, 'read', [key], { namespace }, ids);
  return ids.map((id, index) => decodeShown(id, shown[index] ?? null));
}

export interface RequestQuery {
  namespace: string;
  deployment: string;
  /** Absent = every status. */
  status?: RequestStatus;
  /** At most MAX_LIST_LIMIT, which the caller ensures. */
  limit: number;
  /** Newest first if absent. */
  order?: 'asc' | 'desc';
  /** The id after which to start, whatever its current status. */
  after?: string;
  /** Unix milliseconds: queued then or later. */
  since?: number;
  /** Unix milliseconds: queued earlier. */
  before?: number;
}

/** Indexes are sorted by microseconds. */
export const describeTimes = ({ since, before }: Pick<RequestQuery, 'since' | 'before'>) => {
  const describe = (time = Number.NaN) => (Number.isNaN(time) ? '' : Math.max(0, time) * MICROS_PER_MS);
  return { since: describe(since), before: describe(before) };
};

export const indexesOf = ({ namespace, deployment, status }: RequestQuery): string[] => {
  const keys = workKeys(namespace);
  return [keys.index(deployment, status ?? 'all'), keys.index(deployment, 'all')];
};

/** After so many steps with missing records, which a tenant forged, a list may be shorter than its limit. */
const MAX_LIST_STEPS = 10;

/** Characters of a record in lists. Ours have some hundred, plus an error message. */
const MAX_LISTED_LENGTH = 16 * 1024;

/**
 * A deployment's requests by age (docs/api.md, "GET /v1/requests"): as many as were requested, if there are enough. Of each
 * request's files only the first is named.
 */
export async function listRequests(redis: RedisClient, query: RequestQuery): Promise<ChargedRecord[]> {
  const { limit } = query;
  const records: ChargedRecord[] = [];
  let { after } = query;
  for (let step = 0; step < MAX_LIST_STEPS; step++) {
    const missing = limit - records.length;
    const ids = await listIds(redis, { ...query, limit: missing, after });
    records.push(...(await readListed(redis, query, ids)));
    if (ids.length < missing || records.length === limit) break;
    after = ids.at(-1)!;
  }
  return records;
}

async function listIds(redis: RedisClient, query: RequestQuery): Promise<string[]> {
  const { limit, order = 'desc', after = '' } = query;
  return callFunction(redis, 'list', indexesOf(query), { limit, order, after, ...describeTimes(query) });
}

/** Without expired ones, and those that the functions did not write. */
export async function readListed(
  redis: RedisClient,
  { namespace, deployment, status }: RequestQuery,
  ids: readonly string[],
): Promise<ChargedRecord[]> {
  const listed: ChargedRecord[] = [];
  // Not all in one call, which would delay everyone else's; and sequentially, since each may have a record's maximum size.
  for (let at = 0; at < ids.length; at += READ_AT_ONCE)
    for (const record of await readRequests(redis, namespace, ids.slice(at, at + READ_AT_ONCE))) {
      // A request may have changed its status between the two steps.
      if (record?.deployment !== deployment || (status && record.status !== status)) continue;
      const short = shorten(record);
      if (JSON.stringify(short).length <= MAX_LISTED_LENGTH) listed.push(short);
    }
  return listed;
}

const shorten = (record: ChargedRecord): ChargedRecord =>
  record.output ? { ...record, output: { ...record.output, keys: record.output.keys.slice(0, 1) } } : record;

/** How many requests of a deployment wait, including those that lost their worker. */
export async function countWaiting(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<number> {
  const keys = workKeys(namespace);
  const [queued, again] = await Promise.all([
    redis.zcard(keys.index(deployment, 'queued')),
    redis.zcard(keys.again(deployment)),
  ]);
  return queued + again;
}

/** When the oldest waiting request was queued, in Unix milliseconds; null if none waits. */
export async function readOldest(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<number | null> {
  const [, micros] = await redis.zrange(
    workKeys(namespace).index(deployment, 'queued'),
    '0',
    '0',
    'WITHSCORES',
  );
  const at = Number(micros) / MICROS_PER_MS;
  return Number.isFinite(at) ? at : null;
}

export interface EarlierRequest {
  record: RequestRecord;
  /** As submitted. */
  fingerprint: string;
}

/** The request that an idempotency digest made within 24 hours, checked before inputs are uploaded; else null. */
export async function findEarlierRequest(
  redis: RedisClient,
  namespace: string,
  digest: string,
): Promise<EarlierRequest | null> {
  const marker = await redis.getrange(workKeys(namespace).idempotency(digest), 0, MAX_MARKER_BYTES - 1);
  if (marker === '') return null;
  const record = await readRequest(redis, namespace, marker.slice(0, ID_LENGTH));
  return record && { record, fingerprint: marker.slice(ID_LENGTH + 1) };
}

/** A request's sealed prompt; '' if none is kept. */
export const readSealedPrompt = (redis: RedisClient, namespace: string, id: string): Promise<string> =>
  redis.getrange(workKeys(namespace).prompt(id), 0, MAX_SEALED_PROMPT_LENGTH - 1);

/** A request's sealed parameters; '' if none are kept (anymore). */
export const readSealedParams = (redis: RedisClient, namespace: string, id: string): Promise<string> =>
  redis.getrange(workKeys(namespace).params(id), 0, MAX_SEALED_PARAMS_LENGTH - 1);
