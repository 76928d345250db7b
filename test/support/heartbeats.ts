/** The live heartbeats of a deployment, as Redis holds them. */
import { FUNCTIONS, type Heartbeat, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';

const isHeartbeat = (value: unknown): value is Heartbeat => {
  const beat = value as Partial<Heartbeat> | null;
  return (
    typeof beat === 'object' &&
    beat !== null &&
    [beat.pod, beat.address, beat.version].every((text) => typeof text === 'string') &&
    [beat.port, beat.inflight, beat.limit ?? 0, beat.every, beat.at].every(
      (number) => typeof number === 'number',
    ) &&
    [beat.ready, beat.draining].every((flag) => typeof flag === 'boolean')
  );
};

/** null for what no replica wrote. */
function decodeHeartbeat(text: string): Heartbeat | null {
  try {
    const value: unknown = JSON.parse(text);
    return isHeartbeat(value) ? value : null;
  } catch {
    return null;
  }
}

export async function readHeartbeats(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<Heartbeat[]> {
  const key = workKeys(namespace).heartbeats(name);
  const entries = (await redis.fcall(FUNCTIONS.heartbeats, 1, key)) as string[];
  return entries.flatMap((entry) => decodeHeartbeat(entry) ?? []);
}
