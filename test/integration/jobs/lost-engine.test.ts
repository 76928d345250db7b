import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { findFreePort } from '../../support/child-program.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';

import { type JobStack, startJobStack } from './job-stack.ts';
import { startLoneWorker, submitFilm } from './lone-worker.ts';

for (const kind of ['Image', 'Video'] as const)
  describe(`${kind.toLowerCase()} jobs whose engine is killed`, () => {
    let stack: JobStack;

    beforeEach(async () => {
      stack = await startJobStack({ kind, jobSeconds: 0.05 });
    });
    afterEach(() => stack?.stop());

    const engine = () => stack.pods[0]!.engine;
    const countIn = (status: string) =>
      stack.connection.redis.zcard(workKeys('team').index(stack.config.name, status));
    const readAttempts = (id: string) =>
      stack.connection.redis.hget(workKeys('team').request(id), 'attempts');

    it('fail if they ran there, while all that waited run on its successor', async () => {
      await engine().control({ jobSeconds: 30 });
      await Promise.all(Array.from({ length: 20 }, () => stack.submit()));
      await pollUntil(async () => (await engine().read()).inflight === 1, 'the first job runs');
      await engine().stop('SIGKILL');
      await pollUntil(async () => (await countIn('failed')) > 0, 'the job fails');
      await stack.pods[0]!.restartEngine();
      await pollUntil(async () => (await countIn('succeeded')) === 19, 'all others end', 60_000);
      expect(await countIn('failed')).to.equal(1);
    });

    it('wait for its successor if it never heard of them', async () => {
      await stack.untilIs(await stack.submit(), 'succeeded');
      await engine().stop('SIGKILL');
      const ids = await Promise.all([stack.submit(), stack.submit(), stack.submit()]);
      await pollUntil(
        async () => (await stack.pods[0]!.replica.admin('/readyz')).status === 503,
        'it is noticed',
        30_000,
      );
      await stack.pods[0]!.restartEngine();
      for (const id of ids) {
        await stack.untilIs(id, 'succeeded');
        expect(await readAttempts(id)).to.equal('1');
      }
    });
  });

describe('an engine that accepts no connections though its health check is good', () => {
  const space = useMediaWorkspace();

  it('is asked for a job again and again, unhurried, until the job’s deadline', async () => {
    await space.publish({ videoTimeoutMs: 6_000 });
    const { redis, namespace } = space;
    let doubts = 0;
    const stop = startLoneWorker(space, {
      redis,
      engineURL: `http://127.0.0.1:${await findFreePort()}`,
      onEngineLost: () => doubts++,
    });
    try {
      const id = await submitFilm(space);
      await pollUntil(
        async () => {
          await sweepRequests(redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER });
          return (await space.read(id)).status === 'failed';
        },
        'the end',
        30_000,
      );
      expect((await space.read(id)).errorCode).to.equal('model_timeout');
      const claims = await redis.keys(`w:{${namespace}}:claimed:*`);
      expect(claims.length).to.be.within(2, 6);
      expect(doubts).to.be.at.least(claims.length);
    } finally {
      await stop();
    }
  });
});
