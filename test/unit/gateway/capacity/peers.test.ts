import { createServer, type RequestListener, type Server } from 'node:http';
import { expect } from 'chai';
import { Peers } from '../../../../gateway/capacity/peers.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';

describe('asking the peers for a place', () => {
  let server: Server;
  let pools: Pools;
  const ask = async (listener: RequestListener) => {
    server = createServer(listener);
    await listen(server, 0, '127.0.0.1');
    const heartbeat = {
      v: 1 as const,
      pod: 'other',
      address: '127.0.0.1',
      port: readServerPort(server),
      inflight: 0,
      limit: null,
      ready: true,
      draining: false,
      every: 1_000,
      version: '0',
      at: 0,
    };
    const peers = new Peers({ token: 'token', list: () => [heartbeat], pools });
    return peers.acquire(new AbortController().signal);
  };
  beforeEach(() => {
    pools = new Pools();
  });
  afterEach(async () => {
    await pools.destroy();
    server.closeAllConnections();
    await closeServer(server, 0);
  });

  it('takes one that does not answer in time for full, not for absent', async () => {
    expect(await ask(() => {})).to.deep.equal({ refusal: 'full' });
  });

  it('takes one whose engine is not ready for absent', async () => {
    expect(await ask((_, res) => res.writeHead(503).end())).to.deep.equal({ refusal: 'unavailable' });
  });
});
