import { createServer as createEngine } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { connectRedis } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';
import { ReplyLoss } from '../../support/reply-loss.ts';
import { startLoneWorker, submitFilm } from './lone-worker.ts';

const listenOnLoopback = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe('a claim whose answer is lost', () => {
  const space = useMediaWorkspace();

  it('is repeated, so that its job runs at its first attempt', async () => {
    let asked = 0;
    // Never answers, so that the job runs until the end of the test.
    const engine = createEngine(() => asked++);
    const engineURL = `http://${await listenOnLoopback(engine)}`;
    const relay = await ReplyLoss.start(space.server);
    const connection = connectRedis({ url: relay.url, name: 'test', role: 'sidecar' });
    await connection.untilUp(60_000);
    relay.loseNext(FUNCTIONS.claim);
    const id = await submitFilm(space);
    const stop = startLoneWorker(space, { redis: connection.redis, engineURL });
    try {
      // Nobody sweeps here, so only the repeat gets the job to a worker.
      await pollUntil(() => asked > 0, 'the job runs', 30_000);
      expect(relay.lost).to.equal(1);
      expect(await space.redis.hget(workKeys(space.namespace).request(id), 'attempts')).to.equal('1');
    } finally {
      await stop();
      await connection.close();
      await relay.stop();
      engine.closeAllConnections();
      engine.close();
    }
  });
});
