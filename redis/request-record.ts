/** Reads records of requests. */

import { FUNCTIONS, workKeys } from '../contract/redis-keys.ts';
import type { FailureCode, Modality, RequestRecord, RequestStatus } from '../contract/request.ts';
import type { RedisClient } from './client.ts';

/** A record as the functions keep it; see `RequestRecord`. */
export function decodeRecord(id: string, fields: Record<string, string>): RequestRecord {
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
    output: fields.output ? JSON.parse(fields.output) : null,
    errorCode: (fields.error_code || null) as FailureCode | null,
    errorMessage: fields.error_message || null,
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
  const fields = await redis.hgetall(workKeys(namespace).request(id));
  return fields.status === undefined ? null : decodeRecord(id, fields);
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
  const index = workKeys(namespace).index(deployment, status ?? 'all');
  const found = (await redis.fcall(FUNCTIONS.list, 1, index, namespace, limit)) as [string, string[]][];
  return found.map(([id, flat]) => decodeRecord(id, pairFields(flat)));
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
