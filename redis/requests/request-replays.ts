/** How often a request was asked for again by its idempotency key (docs/api.md, "Idempotency"). */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';

export interface RequestReplays {
  count: number;
  /** Unix milliseconds. */
  lastAt: number;
  /** Fields of the last one that differed. */
  differing: string[];
}

/** Names of all documented fields and files take less. */
const MAX_NAMES_LENGTH = 1024;

/** A tenant may have written anything there. */
export function decodeReplays(fields: Record<string, string | undefined>): RequestReplays | null {
  const [count, lastAt] = [Number(fields.replays), Number(fields.replayed_at)];
  if (!Number.isSafeInteger(count) || count < 1 || Number.isNaN(new Date(lastAt).getTime())) return null;
  const names = (fields.replay_differs ?? '').slice(0, MAX_NAMES_LENGTH).split(',');
  return { count, lastAt, differing: names.filter((name) => /^[\w[\]]{1,64}$/.test(name)) };
}

/** Records one more, and the names of its fields that differ. */
export async function noteReplay(
  redis: RedisClient,
  { namespace, id, differing }: { namespace: string; id: string; differing: readonly string[] },
): Promise<void> {
  const names = differing.join(',').slice(0, MAX_NAMES_LENGTH);
  await callFunction(redis, 'replay', [workKeys(namespace).request(id)], { namespace, id, differing: names });
}
