/**
 * Reads usage hashes, each up to half a MiB, possibly written by a workspace's own Redis user: few at a time on one
 * connection, which Redis closes where too much waits to be read. Workspaces take turns.
 */
import { ConcurrencyLimit } from '../../kit/concurrency-limit.ts';
import type { RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';

const READS_AT_ONCE = 8;
/** Concurrent reads per query: data read but not yet used stays in memory. */
const READ_AHEAD = 4;
const limitOf = new WeakMap<RedisClient, ConcurrencyLimit>();

export interface UsageHash<V> {
  key: string;
  /** Kept in memory: its fields and counters, alternating. */
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
    // Reported where it is awaited, if ever.
    read.catch(() => {});
    ahead.push(read);
  }
  for (const read of ahead) yield await read;
}

function readHash<V>(redis: RedisClient, namespace: string, { key, view }: UsageHash<V>): Promise<V> {
  const limit = limitOf.get(redis) ?? new ConcurrencyLimit(READS_AT_ONCE);
  limitOf.set(redis, limit);
  return limit.run(async () => view(await callFunction(redis, 'usage', [key], {})), namespace);
}
