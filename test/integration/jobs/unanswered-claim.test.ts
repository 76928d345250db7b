import { createServer as createEngine } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { FUNCTIONS, workKeys } from '../../../api/redis-keys.ts';
import { connectRedis } from '../../../redis/client.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';

import { startLoneWorker, submitFilm } from './lone-worker.ts';

/** Before Redis: carries everything but the first answer to a claim. */
function startProxy(port: number): Server & { swallowed: number } {
  const server = createServer((client: Socket) => {
    const redis = connect(port, '127.0.0.1');
    let isMute = false;
    client.on('data', (data) => {
      if (proxy.swallowed === 0 && data.includes(FUNCTIONS.claim)) {
        isMute = true;
        proxy.swallowed++;
      }
      redis.write(data);
    });
    redis.on('data', (data) => isMute || client.write(data));
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
  });
  const proxy = Object.assign(server, { swallowed: 0 });
  return proxy;
}

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
    const proxy = startProxy(space.server.port);
    const through = new URL(space.server.url);
    through.host = await listenOnLoopback(proxy);
    const connection = connectRedis({ url: through.href, name: 'test', role: 'sidecar' });
    await connection.untilUp(60_000);
    const id = await submitFilm(space);
    const stop = startLoneWorker(space, { redis: connection.redis, engineURL });
    try {
      // Nobody sweeps here, so only the repeat gets the job to a worker.
      await pollUntil(() => asked > 0, 'the job runs', 30_000);
      expect(proxy.swallowed).to.equal(1);
      expect(await space.redis.hget(workKeys(space.namespace).request(id), 'attempts')).to.equal('1');
    } finally {
      await stop();
      await connection.close();
      proxy.close();
      engine.closeAllConnections();
      engine.close();
    }
  });
});
