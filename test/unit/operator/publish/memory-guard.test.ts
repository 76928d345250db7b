import { mock } from 'node:test';
import { expect } from 'chai';
import type { Command } from 'ioredis';
import { silentLog } from '../../../../kube/log.ts';
import { MemoryGuard } from '../../../../operator/publish/memory-guard.ts';
import type { RedisClient } from '../../../../redis/client.ts';

const MAX = 1_000_000;

describe('the guard of Redis’ memory', () => {
  /** A Redis with this much memory in use, of which one workspace has more than its share. */
  function start(used: number) {
    const calls = { info: 0, suspended: 0 };
    const redis = {
      info: async () => {
        calls.info++;
        return `# Memory\r\nused_memory:${used}\r\nmaxmemory:${MAX}\r\n`;
      },
      // Only the function `weigh` is called. A command without a reply would reject after its time.
      sendCommand: (command: Command) => {
        command.resolve(['0', 'hostile', MAX / 2 + 1]);
        return command.promise;
      },
      acl: async (command: string) => {
        if (command === 'USERS') calls.suspended++;
        return [];
      },
    };
    const guard = new MemoryGuard({
      redis: redis as unknown as RedisClient,
      sharePercent: 50,
      log: silentLog,
      onChange: () => {},
    });
    return { guard, calls };
  }

  it('leaves a workspace beyond its share alone below 70 % of maxmemory', async () => {
    const { guard, calls } = start(0.7 * MAX - 1);
    await guard.check();
    expect([guard.isSuspended('hostile'), calls.suspended]).to.deep.equal([false, 0]);
  });

  it('suspends it from 70 % on', async () => {
    const { guard, calls } = start(0.7 * MAX);
    // The fake has no commands for what follows.
    await guard.check().catch(() => {});
    expect([guard.isSuspended('hostile'), calls.suspended]).to.deep.equal([true, 1]);
  });

  it('measures four times a second', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { guard, calls } = start(0);
    try {
      guard.start();
      await new Promise(setImmediate);
      for (let elapsed = 0; elapsed < 1_100; elapsed += 10) {
        mock.timers.tick(10);
        await new Promise(setImmediate);
      }
      expect(calls.info).to.equal(1 + 4);
    } finally {
      guard.stop();
      mock.timers.reset();
    }
  });
});
