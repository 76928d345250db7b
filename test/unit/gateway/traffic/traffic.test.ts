import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { BusyTime } from '../../../../gateway/capacity/busy-time.ts';
import { Traffic } from '../../../../gateway/traffic/traffic.ts';
import { closeServer, listen } from '../../../../kit/http-server.ts';
import { pollUntil } from '../../../support/poll.ts';

const { signal } = new AbortController();

describe('the replicas of a version that are asked for a slot', () => {
  let server: Server;
  let port: number;
  let asked: string[];
  let answer: (address: string) => number | null;
  let addresses: string[];
  const open: Traffic[] = [];
  beforeEach(async () => {
    asked = [];
    addresses = [1, 2, 3, 4, 5, 6].map((host) => `127.0.0.${host}`);
    server = createServer(({ socket }, res) => {
      const address = socket.localAddress!.replace('::ffff:', '');
      asked.push(address);
      const status = answer(address);
      if (status !== null) res.writeHead(status, { 'x-berth-reservation': '7', 'content-length': 0 }).end();
    });
    port = await listen(server, 0);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((traffic) => traffic.close()));
    await closeServer(server, 0);
  });
  const start = (timeoutMs: number, readReplicas = async () => addresses) => {
    const traffic = new Traffic({
      config: () => ({}),
      token: () => 'token',
      readReplicas,
      port,
      onResend: () => {},
      busy: new BusyTime(),
      timeoutMs,
    });
    open.push(traffic);
    return traffic;
  };

  it('are asked one after the other, in an order of the conversation', async () => {
    answer = () => 503;
    const traffic = start(60_000);
    const orders: string[] = [];
    for (const conversation of ['a', 'b', 'c', 'a']) {
      expect(await traffic.acquire('v2', conversation, { signal })).to.equal(null);
      orders.push(asked.splice(0).join());
    }
    for (const order of orders) expect(order.split(',').sort()).to.deep.equal(addresses);
    expect(orders[3]).to.equal(orders[0]);
    expect(new Set(orders)).to.have.property('size').above(1);
    answer = (address) => (address === '127.0.0.4' ? 201 : 503);
    const target = await traffic.acquire('v2', 'a', { signal });
    expect(target).to.include({ version: 'v2', origin: `http://127.0.0.4:${port}` });
  });

  it('are not asked again for some seconds after one did not answer in time', async () => {
    addresses = ['127.0.0.1'];
    answer = () => null;
    const traffic = start(20);
    expect(await traffic.acquire('v2', 'a', { signal })).to.equal(null);
    expect(await traffic.acquire('v2', 'b', { signal })).to.equal(null);
    expect(asked).to.have.lengthOf(1);
  });

  it('are those that were known before, while they are read again', async () => {
    answer = () => 201;
    let reads = 0;
    const traffic = start(60_000, () => (reads++ === 0 ? Promise.resolve(addresses) : new Promise(() => {})));
    await pollUntil(async () => {
      expect(await traffic.acquire('v2', 'a', { signal })).not.to.equal(null);
      return reads === 2;
    }, 'them to be read again');
    expect(await traffic.acquire('v2', 'a', { signal })).not.to.equal(null);
  });
});
