/** Redis memory used by each workspace's own keys, which the operator limits. */
import { type RedisClient, sendSlowCommand } from '../client.ts';
import { encodeCall, type Replies } from '../function-table.ts';
import { readInfo } from '../inspection.ts';

export interface MemoryUse {
  used: number;
  /** Bytes; 0 = no limit. */
  max: number;
}

export interface Weighing {
  /** Measures every element of a key instead of a few samples, which takes longer. */
  exactly?: boolean;
  /** Stops early once it returns true. */
  isEnough?: (bytes: number) => boolean;
}

export async function readMemoryUse(redis: RedisClient): Promise<MemoryUse> {
  const { used_memory: used = 0, maxmemory: max = 0 } = await readInfo(redis, 'memory');
  return { used: Number(used), max: Number(max) };
}

/** Bytes by namespace, some keys per step so that Redis serves others in between. */
export async function weighWorkspaces(
  redis: RedisClient,
  { exactly = false, isEnough = () => false }: Weighing = {},
): Promise<Map<string, number>> {
  const weights = new Map<string, number>();
  let cursor = '0';
  do {
    const call = encodeCall('weigh', [], { cursor, mode: exactly ? 'exactly' : 'sampled' });
    const [next, ...pairs] = (await sendSlowCommand(redis, 'fcall', call)) as Replies['weigh'];
    for (let i = 0; i < pairs.length; i += 2) {
      const namespace = String(pairs[i]);
      weights.set(namespace, (weights.get(namespace) ?? 0) + Number(pairs[i + 1]));
    }
    cursor = String(next);
  } while (cursor !== '0' && ![...weights.values()].some(isEnough));
  return weights;
}
