/** A queued request's trace context, for its later worker. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { parseCount } from '../untrusted-values.ts';

export interface RequestTrace {
  /** W3C Trace Context; null if not traced. */
  traceparent: string | null;
  /** Unix milliseconds. */
  queuedAt: number | null;
}

/** Length in version 00; no function writes a different one. */
const TRACEPARENT_LENGTH = 55;
const MAX_TIME_LENGTH = 16;

export async function readRequestTrace(
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<RequestTrace> {
  const key = workKeys(namespace).request(id);
  const lengths = await Promise.all([redis.hstrlen(key, 'traceparent'), redis.hstrlen(key, 'queued_at')]);
  const [traceparent, queuedAt] = await Promise.all([
    lengths[0] === TRACEPARENT_LENGTH ? redis.hget(key, 'traceparent') : null,
    lengths[1] <= MAX_TIME_LENGTH ? redis.hget(key, 'queued_at') : null,
  ]);
  return { traceparent, queuedAt: parseCount(queuedAt) || null };
}
