import { expect } from 'chai';
import { channels } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { subscribe } from '../../../redis/subscription.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const LIMITS = { messagesPerSecond: 1_000, bytesPerSecond: 1024 * 1024, pauseMs: 500 };

/** A workspace's Redis user may publish what the functions announce as that user. */
describe('a flood of messages', () => {
  let server: RedisServer;
  let admin: RedisConnection;
  let tenant: RedisConnection;

  before(async () => {
    server = await startRedis();
    admin = await connectTo(server);
    const user = { namespace: 'evil', username: 'ws:evil', password: 'secret' };
    await ensureWorkspaceUser(admin.redis, user);
    tenant = await connectTo(server, { ...user, role: 'sidecar', commandTimeoutMs: 60_000 });
  });
  after(async () => {
    await tenant?.close();
    await admin?.close();
    await server?.stop();
  });

  for (const [what, count, message, most] of [
    ['many', 20_000, '1', 1_000],
    ['long ones', 40, 'x'.repeat(100_000), 10],
  ] as const)
    it(`is cut off, be it of ${what}, and what comes after the pause is heard`, async () => {
      let heard = 0;
      let resumed = 0;
      const settings = { url: server.url, name: 'flooded', role: 'front' as const };
      const listener = { onMessage: () => heard++, onResume: () => resumed++ };
      const subscription = subscribe(settings, [channels.allEvents], listener, LIMITS);
      try {
        await pollUntil(() => resumed === 1, 'the subscription');
        const channel = channels.events('evil');
        await Promise.all(Array.from({ length: count }, () => tenant.redis.publish(channel, message)));
        await pollUntil(() => subscription.state === 'away' || resumed > 1, 'the cut');
        expect(heard).to.be.at.most(most * resumed);
        await pollUntil(() => resumed > 1 && subscription.state === 'up', 'the end of the pause');
        const before = heard;
        await pollUntil(async () => {
          await tenant.redis.publish(channel, '1');
          return heard > before;
        }, 'a message after it');
      } finally {
        await subscription.close();
      }
    });
});
