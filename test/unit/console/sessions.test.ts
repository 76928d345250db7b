import { expect } from 'chai';
import { RedisPresence } from '../../../console/server/redis-presence.ts';
import { Sessions } from '../../../console/server/sessions.ts';
import type { RedisClient } from '../../../redis/client.ts';

/** A Redis of one map that can be away. */
function makeRedis() {
  const held = new Map<string, string>();
  const redis = { isAway: false, get, set, del };
  const check = () => {
    if (redis.isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  async function get(key: string): Promise<string | null> {
    check();
    return held.get(key) ?? null;
  }
  async function set(key: string, value: string): Promise<void> {
    check();
    held.set(key, value);
  }
  async function del(key: string): Promise<void> {
    check();
    held.delete(key);
  }
  return redis;
}

describe('a session while Redis is away', () => {
  it('stays open for what is streamed to it, until somebody signs out', async () => {
    const redis = makeRedis();
    const sessions = new Sessions(redis as unknown as RedisClient, new RedisPresence());
    const { id, session } = await sessions.begin({ token: 't', user: 'anna', own: [] }, null);
    await sessions.find(id);
    expect(await sessions.isOpen(session)).to.equal(true);
    redis.isAway = true;
    expect(await sessions.isOpen(session)).to.equal(true);
    await sessions.end(session).catch(() => {});
    expect(await sessions.isOpen(session)).to.equal(false);
  });

  it('is closed once Redis says so', async () => {
    const redis = makeRedis();
    const sessions = new Sessions(redis as unknown as RedisClient, new RedisPresence());
    const { id, session } = await sessions.begin({ token: 't', user: 'anna', own: [] }, null);
    await sessions.find(id);
    await sessions.end(session);
    expect(await sessions.isOpen(session)).to.equal(false);
  });
});
