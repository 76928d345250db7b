import { createServer, type RequestListener, type Server } from 'node:http';
import { expect } from 'chai';
import { Pool } from 'undici';
import { askPeer, PeerTimeoutError } from '../../../../gateway/capacity/peer-call.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';
import { pollUntil } from '../../../support/poll.ts';
import { rejection } from '../../../support/redis-client.ts';

const LONG_MS = 60_000;

describe('a question to a peer', () => {
  let server: Server;
  let pool: Pool;
  let answer: RequestListener;
  let closed = 0;
  beforeEach(async () => {
    closed = 0;
    server = createServer((req, res) => {
      res.on('close', () => {
        if (!res.writableFinished) closed++;
      });
      answer(req, res);
    });
    await listen(server, 0, '127.0.0.1');
    pool = new Pool(`http://127.0.0.1:${readServerPort(server)}`, { pipelining: 1 });
  });
  afterEach(async () => {
    await pool.destroy();
    server.closeAllConnections();
    await closeServer(server, 0);
  });
  const ask = (timeoutMs = LONG_MS, signal = new AbortController().signal) =>
    askPeer(pool, { path: '/x', headers: { 'x-token': 'secret' }, timeoutMs, signal });

  it('is answered by the head, and its connections are used again', async () => {
    const ports = new Set<number | undefined>();
    answer = (req, res) => {
      ports.add(req.socket.remotePort);
      res
        .writeHead(req.headers['x-token'] === 'secret' ? 201 : 401, { 'x-id': '7', 'content-length': 0 })
        .end();
    };
    for (let time = 0; time < 6; time++) {
      const { status, headers } = await ask();
      expect([status, headers['x-id']]).to.deep.equal([201, '7']);
    }
    // A connection may not be back in the pool when the next question is sent.
    expect(ports.size).to.be.at.most(2);
  });

  it('takes no longer than it may', async () => {
    answer = () => {};
    expect(await rejection(ask(20))).to.be.instanceOf(PeerTimeoutError);
    await pollUntil(() => closed === 1, 'the connection to be closed');
  });

  it('is answered if the answer came while this process stood still', async () => {
    answer = (_, res) => {
      res.writeHead(201, { 'content-length': 0 }).end();
      for (const end = performance.now() + 60; performance.now() < end; );
    };
    expect((await ask(30)).status).to.equal(201);
  });

  it('ends with whoever asks, before and after it was sent', async () => {
    let asked = 0;
    answer = () => asked++;
    const reason = new Error('gone');
    expect(await rejection(ask(LONG_MS, AbortSignal.abort(reason)))).to.equal(reason);
    expect(asked).to.equal(0);
    const controller = new AbortController();
    const asking = rejection(ask(LONG_MS, controller.signal));
    await pollUntil(() => asked === 1, 'the question');
    controller.abort(reason);
    expect(await asking).to.equal(reason);
    await pollUntil(() => closed === 1, 'the connection to be closed');
  });

  it('reads no more than a little of an answer without an end', async () => {
    answer = (_, res) => {
      res.writeHead(201);
      const write = () => {
        while (!res.destroyed && res.write('x'.repeat(64 * 1024)));
      };
      res.on('drain', write);
      write();
    };
    expect((await ask()).status).to.equal(201);
    await pollUntil(() => closed === 1, 'the connection to be closed');
  });

  it('waits for the rest of an answer only as long as for its head', async () => {
    answer = (_, res) => void res.writeHead(201).flushHeaders();
    expect((await ask(50)).status).to.equal(201);
    await pollUntil(() => closed === 1, 'the connection to be closed');
  });

  it('fails where nobody listens', async () => {
    await closeServer(server, 0);
    expect(await rejection(ask())).to.have.property('code', 'ECONNREFUSED');
  });
});
