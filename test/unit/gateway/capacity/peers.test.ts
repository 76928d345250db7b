import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { Peers } from '../../../../gateway/capacity/peers.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';
import { describeReplica } from '../../../support/heartbeat.ts';

describe('asking the peers for a place', () => {
  let server: Server;
  let pools: Pools;
  const ask = async (listener: RequestListener, isLost = false) => {
    server = createServer(listener);
    await listen(server, 0, '127.0.0.1');
    const heartbeat = {
      ...describeReplica({ pod: 'other', address: '127.0.0.1', port: readServerPort(server) }),
      at: 0,
    };
    const peers = new Peers({ token: 'token', list: () => [heartbeat], pools });
    const lost = new Set(isLost ? [`http://127.0.0.1:${heartbeat.port}`] : []);
    return peers.acquire(new AbortController().signal, lost);
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

  it('asks none whose engine was seen to fail', async () => {
    const place = (_: unknown, res: ServerResponse) =>
      res.writeHead(201, { 'x-berth-reservation': 'id' }).end();
    expect(await ask(place)).to.have.property('target');
    await closeServer(server, 0);
    expect(await ask(place, true)).to.deep.equal({ refusal: 'unavailable' });
  });

  it('takes one whose engine is not ready for absent', async () => {
    expect(await ask((_, res) => res.writeHead(503).end())).to.deep.equal({ refusal: 'unavailable' });
  });

  it('asks cordoned ones last, and another replica that is cordoned hands them nothing', async () => {
    const asked: string[] = [];
    server = createServer((_, res) => res.writeHead(429).end());
    await listen(server, 0, '127.0.0.1');
    const list = ['first', 'second', 'third'].map((pod, index) => ({
      ...describeReplica({ pod, inflight: index, limit: 9, address: '127.0.0.1' }),
      at: 0,
      get port() {
        asked.push(pod);
        return readServerPort(server);
      },
    }));
    const ask = async (pod: string, cordoned: string[]) => {
      asked.length = 0;
      const peers = new Peers({ token: 'token', list: () => list, pools, cordoned: () => cordoned, pod });
      await peers.acquire(new AbortController().signal);
      return [...asked];
    };
    expect(await ask('own', ['first'])).to.deep.equal(['second', 'third', 'first']);
    expect(await ask('own', ['first', 'own'])).to.deep.equal(['second', 'third']);
  });
});
