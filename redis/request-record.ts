/** Reads records of requests. */

import { workKeys } from '../contract/redis-keys.ts';
import type {
  FailureCode,
  Modality,
  RequestOutput,
  RequestRecord,
  RequestStatus,
} from '../contract/request.ts';
import type { RedisClient } from './client.ts';

/** A record as the functions keep it; see `RequestRecord`. */
export function decodeRecord(id: string, fields: Record<string, string>, result: string): RequestRecord {
  const time = (text: string | undefined) => (text ? Number(text) : null);
  return {
    id,
    deployment: fields.deployment!,
    registrationId: Number(fields.registration_id),
    modality: fields.modality as Modality,
    status: fields.status as RequestStatus,
    model: fields.model ?? '',
    size: fields.size ?? '',
    seconds: fields.seconds ?? '',
    progress: Number(fields.progress ?? 0),
    queuedAt: Number(fields.queued_at),
    startedAt: time(fields.started_at),
    completedAt: time(fields.completed_at),
    output: fields.status === 'succeeded' && result ? (JSON.parse(result) as RequestOutput) : null,
    errorCode: (fields.error_code || null) as FailureCode | null,
    errorMessage: fields.status === 'failed' ? result : null,
  };
}

/** The fields of a hash as a function returns them: names and values in turn. */
export function pairFields(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
  return fields;
}

/** A request of this workspace, of any deployment; null when unknown or forgotten. */
export async function readRequest(
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<RequestRecord | null> {
  const keys = workKeys(namespace);
  // In this order: once the record says that it has ended, its result is there.
  const [fields, result] = await Promise.all([redis.hgetall(keys.request(id)), redis.get(keys.result(id))]);
  if (fields.status === undefined) return null;
  return decodeRecord(id, fields, result ?? '');
}

export interface RequestQuery {
  namespace: string;
  deployment: string;
  /** Absent = every status. */
  status?: RequestStatus;
  /** At most MAX_LIST_LIMIT, which the caller sees to. */
  limit: number;
}

/** A deployment's requests, newest first (contract: GET /v1/requests). */
export async function listRequests(redis: RedisClient, query: RequestQuery): Promise<RequestRecord[]> {
  const { namespace, deployment, status, limit } = query;
  const keys = workKeys(namespace);
  const ids = await redis.zrevrange(keys.index(deployment, status ?? 'all'), 0, limit - 1);
  // One by one rather than in a function: 200 records at once would hold up everybody else's calls.
  const records = await Promise.all(ids.map((id) => readRequest(redis, namespace, id)));
  return records.filter(
    // What has moved on between the two steps is no longer of that status.
    (record): record is RequestRecord => record !== null && (!status || record.status === status),
  );
}

/** How many requests of a deployment wait, those that lost their worker included. */
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

/** The request that an idempotency digest made within 24 hours, to look before inputs are uploaded; else null. */
export async function findSubmission(
  redis: RedisClient,
  namespace: string,
  digest: string,
): Promise<RequestRecord | null> {
  const id = await redis.get(workKeys(namespace).idempotency(digest));
  return id === null ? null : readRequest(redis, namespace, id);
}
