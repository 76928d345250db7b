/** How much of Redis' memory each workspace's own keys take, for whoever bounds that: the operator. */
import { FUNCTIONS, workKeys } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';

export interface MemoryUse {
  used: number;
  /** Bytes; 0 = no limit. */
  max: number;
}

export async function readMemoryUse(redis: RedisClient): Promise<MemoryUse> {
  const info = await redis.info('memory');
  const read = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: read('used_memory'), max: read('maxmemory') };
}

/** Bytes by namespace, some thousand keys a step so that Redis serves others between; ends early once `isEnough` says so. */
export async function weighWorkspaces(
  redis: RedisClient,
  isEnough: (bytes: number) => boolean = () => false,
): Promise<Map<string, number>> {
  const weights = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, ...pairs] = (await redis.fcall(FUNCTIONS.weigh, 0, cursor)) as (string | number)[];
    for (let i = 0; i < pairs.length; i += 2) {
      const namespace = String(pairs[i]);
      weights.set(namespace, (weights.get(namespace) ?? 0) + Number(pairs[i + 1]));
    }
    cursor = String(next);
  } while (cursor !== '0' && ![...weights.values()].some(isEnough));
  return weights;
}

/** What functions never write as one value, and read from nobody. */
const LARGE_BYTES = 64 * 1024;

/** Removes keys of a workspace, large ones before others and never what it spent, until so many bytes are free. */
export async function trimWorkspace(redis: RedisClient, namespace: string, bytes: number): Promise<number> {
  const { prefix, credit } = workKeys(namespace);
  let freed = 0;
  for (const least of [LARGE_BYTES, 0]) {
    let cursor = '0';
    do {
      if (freed >= bytes) return freed;
      const [next, found] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
      const keys = found.filter((key) => key !== credit);
      const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key)));
      const doomed = keys.filter((_, i) => {
        const size = sizes[i] ?? 0;
        if (size < least || freed >= bytes) return false;
        freed += size;
        return true;
      });
      if (doomed.length > 0) await redis.unlink(...doomed);
      cursor = next;
    } while (cursor !== '0');
  }
  return freed;
}
