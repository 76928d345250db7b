import { expect } from 'chai';
import { RedisPresence } from '../../../console/server/sessions/redis-presence.ts';
import { Sessions } from '../../../console/server/sessions/sessions.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { rejection } from '../../support/redis-client.ts';
import { makeRedis } from './console-redis.ts';

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

  it('ends its streams once it expires or is signed out, and no others', async () => {
    const redis = makeRedis();
    const sessions = new Sessions(redis as unknown as RedisClient, new RedisPresence());
    const begin = (endsAt: number | null) =>
      sessions.begin({ token: 't', user: 'anna', own: [] }, endsAt).then(({ session }) => session);
    const told: string[] = [];
    const [short, left, other] = await Promise.all([begin(Date.now() + 20), begin(null), begin(null)]);
    const expired = new Promise<void>((resolve) => sessions.onEnd(short, resolve));
    const leave = [left, left, other].map((session, index) =>
      sessions.onEnd(session, () => told.push(`stream ${index}`)),
    );
    leave[1]!();
    await sessions.end(left);
    expect(told).to.deep.equal(['stream 0']);
    await expired;
    sessions.evict(other.digest);
    expect(told).to.deep.equal(['stream 0', 'stream 2']);
    for (const each of leave) each();
  });

  describe('of two consoles', () => {
    const start = (redis: ReturnType<typeof makeRedis>) => {
      const [here, there] = [1, 2].map(
        () => new Sessions(redis as unknown as RedisClient, new RedisPresence()),
      );
      return { here: here!, there: there! };
    };

    it('is closed at both when somebody signs out at one', async () => {
      const redis = makeRedis();
      const { here, there } = start(redis);
      redis.onPublish = (digest) => there.evict(digest);
      const { id, session } = await here.begin({ token: 't', user: 'anna', own: [] }, null);
      await there.find(id);
      await here.end(session);
      redis.isAway = true;
      expect(await there.isOpen(session)).to.equal(false);
      expect(await rejection(there.find(id))).to.have.property('code', 'temporarily_unavailable');
    });

    it('is closed at one that missed the notification, once Redis is back, and others stay open', async () => {
      const redis = makeRedis();
      const { here, there } = start(redis);
      const { id, session } = await here.begin({ token: 't', user: 'anna', own: [] }, null);
      const other = await here.begin({ token: 't', user: 'otto', own: [] }, null);
      await there.find(id);
      await there.find(other.id);
      await here.end(session);
      await there.recheck();
      redis.isAway = true;
      expect(await there.isOpen(session)).to.equal(false);
      expect(await there.isOpen(other.session)).to.equal(true);
    });
  });
});
