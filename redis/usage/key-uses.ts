/** When each API key was last used. */
import { workKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';
import { readCounter } from '../untrusted-values.ts';

/** Expiry after a key's last use. */
const KEEP_SECONDS = 90 * 86_400;
/** The range of Date. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** `uses`: Unix milliseconds by the SHA-256 of the keys. */
export async function writeKeyUses(
  redis: RedisClient,
  namespace: string,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  if (uses.size === 0) return;
  const { used } = workKeys(namespace);
  const batch = redis.pipeline();
  for (const [sha256, at] of uses) batch.set(used(sha256), at, 'EX', KEEP_SECONDS);
  await execute(batch);
}

/** Unix milliseconds, at most a minute too early; null for a key that was not used within 90 days. */
export async function readKeyUse(
  redis: RedisClient,
  namespace: string,
  sha256: string,
): Promise<number | null> {
  const at = await readCounter(redis, workKeys(namespace).used(sha256));
  return at > 0 && at <= MAX_TIME_MS ? at : null;
}
