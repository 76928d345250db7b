/**
 * Reads hashes of usage, each up to half a MiB of what a workspace's own Redis user may have written: few at a time on one
 * connection, which Redis closes where too much waits to be read. Workspaces take limit.
 */
import { FUNCTIONS } from '../../api/redis-keys.ts';
import { ConcurrencyLimit } from '../../kit/concurrency-limit.ts';
import type { RedisClient } from '../client.ts';

const READS_AT_ONCE = 8;
/** Of one question: what it has read and not yet used stays in memory. */
const READ_AHEAD = 4;
const limitOf = new WeakMap<RedisClient, ConcurrencyLimit>();

export interface UsageHash<V> {
  key: string;
  /** What stays of it in memory, of its fields and counters, one after the other. */
  view: (entries: readonly string[]) => V;
}

/** In order; a reader that stops, stops the reading. */
export async function* readUsageHashes<V>(
  redis: RedisClient,
  namespace: string,
  hashes: Iterable<UsageHash<V>>,
): AsyncGenerator<V> {
  const ahead: Promise<V>[] = [];
  for (const hash of hashes) {
    if (ahead.length === READ_AHEAD) yield await ahead.shift()!;
    const read = readHash(redis, namespace, hash);
    // Told where it is awaited, if it ever is.
    read.catch(() => {});
    ahead.push(read);
  }
  for (const read of ahead) yield await read;
}

function readHash<V>(redis: RedisClient, namespace: string, { key, view }: UsageHash<V>): Promise<V> {
  const limit = limitOf.get(redis) ?? new ConcurrencyLimit(READS_AT_ONCE);
  limitOf.set(redis, limit);
  return limit.run(async () => view((await redis.fcall(FUNCTIONS.usage, 1, key)) as string[]), namespace);
}
