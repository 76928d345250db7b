/** Berth's functions with a clock that a test sets. */
import type { RedisClient } from '../../redis/client.ts';
import { readFunctionFiles } from '../../redis/library.ts';
import { linkLibrary } from '../../redis/lua-linker.ts';

const CLOCK = 'test:now';

/** Until `setTime`, time passes as in Redis. Expiry of keys is always by Redis' own clock. */
export async function loadTimedLibrary(redis: RedisClient): Promise<void> {
  const code = linkLibrary(readFunctionFiles());
  const timed = code.replace(
    "local time = redis.call('TIME')",
    `local at = redis.call('GET', '${CLOCK}') local time = at and { at, '0' } or redis.call('TIME')`,
  );
  if (timed === code) throw new Error('clock.lua reads the time otherwise');
  await redis.function('LOAD', 'REPLACE', timed);
}

export const setTime = (redis: RedisClient, iso: string) => redis.set(CLOCK, Date.parse(iso) / 1_000);
