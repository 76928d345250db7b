/** How much of Redis' memory each workspace's own keys take, for whoever bounds that: the operator. */
import { FUNCTIONS } from '../../api/redis-keys.ts';
import { type RedisClient, sendPatiently } from '../client.ts';

export interface MemoryUse {
  used: number;
  /** Bytes; 0 = no limit. */
  max: number;
}

export interface Weighing {
  /** Looks at all that is in a key, where otherwise a few samples tell; that takes longer. */
  exactly?: boolean;
  /** Ends early once it says so. */
  isEnough?: (bytes: number) => boolean;
}

export async function readMemoryUse(redis: RedisClient): Promise<MemoryUse> {
  const info = await redis.info('memory');
  const read = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: read('used_memory'), max: read('maxmemory') };
}

/** Bytes by namespace, some keys a step so that Redis serves others between. */
export async function weighWorkspaces(
  redis: RedisClient,
  { exactly = false, isEnough = () => false }: Weighing = {},
): Promise<Map<string, number>> {
  const weights = new Map<string, number>();
  let cursor = '0';
  do {
    const args = [FUNCTIONS.weigh, '0', cursor, ...(exactly ? ['exactly'] : [])];
    const [next, ...pairs] = (await sendPatiently(redis, 'fcall', args)) as (string | number)[];
    for (let i = 0; i < pairs.length; i += 2) {
      const namespace = String(pairs[i]);
      weights.set(namespace, (weights.get(namespace) ?? 0) + Number(pairs[i + 1]));
    }
    cursor = String(next);
  } while (cursor !== '0' && ![...weights.values()].some(isEnough));
  return weights;
}
