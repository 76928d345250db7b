import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { expect } from 'chai';
import { selectRequestHeaders } from '../../../../gateway/upstream/headers.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { type RelayOutcome, type RelayRequest, relay } from '../../../../gateway/upstream/relay.ts';
import { listen, readServerPort } from '../../../../kit/http-server.ts';
import { pollUntil } from '../../../support/poll.ts';

const LOOPBACK = '127.0.0.1';

describe('a relay', () => {
  let servers: Server[];
  let pools: Pools;
  let outcomes: RelayOutcome[];
  beforeEach(() => {
    servers = [];
    pools = new Pools();
    outcomes = [];
  });
  afterEach(async () => {
    await pools.destroy();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  const serve = async (listener: RequestListener) => {
    const server = createServer(listener);
    servers.push(server);
    await listen(server, 0, LOOPBACK);
    return `http://${LOOPBACK}:${readServerPort(server)}`;
  };
  const relayTo = (origin: string, more: Partial<RelayRequest> = {}) =>
    serve(async (req, res) => {
      const headers = selectRequestHeaders(req.headers);
      const outcome = await relay({ req, res, pool: pools.get(origin), path: req.url!, headers, ...more });
      outcomes.push(outcome);
      if (outcome.result === 'failed') res.writeHead(599).end();
    });

  it('passes method, path, headers, body and answer on', async () => {
    const seen: IncomingMessage[] = [];
    const far = await serve(async (req, res) => {
      seen.push(req);
      const chunks = await req.toArray();
      res.setHeader('set-cookie', ['a=1', 'b=2']);
      res
        .writeHead(201, { 'x-far': 'yes', connection: 'close' })
        .end(Buffer.concat(chunks).toString().toUpperCase());
    });
    const near = await relayTo(far);
    const response = await fetch(`${near}/v1/x?y=1`, {
      method: 'POST',
      body: 'hello',
      headers: { authorization: 'Bearer k', 'x-berth-peer-token': 'forged' },
    });
    expect(await response.text()).to.equal('HELLO');
    expect(response.status).to.equal(201);
    expect(response.headers.get('x-far')).to.equal('yes');
    expect(response.headers.getSetCookie()).to.deep.equal(['a=1', 'b=2']);
    expect(seen[0]!.url).to.equal('/v1/x?y=1');
    expect(seen[0]!.headers).to.include({ authorization: 'Bearer k', 'content-length': '5' });
    expect(seen[0]!.headers).to.not.have.property('x-berth-peer-token');
    expect(outcomes).to.deep.equal([{ result: 'answered' }]);
  });

  it('passes chunks on as they come, headers before the first', async () => {
    let far: ServerResponse | undefined;
    const near = await relayTo(
      await serve((_, res) => {
        far = res;
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      }),
    );
    const response = await fetch(near);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const text of ['one', 'two']) {
      far!.write(text);
      expect((await reader.read()).value).to.equal(text);
    }
    far!.end();
    expect((await reader.read()).done).to.equal(true);
  });

  it('holds a fast sender back while the client does not read', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const near = await relayTo(
      await serve((_, res) => {
        const push = () => {
          while (!res.destroyed && sent < 600) {
            sent++;
            if (!res.write(chunk)) return void res.once('drain', push);
          }
          res.end();
        };
        push();
      }),
    );
    const client = request(near).end();
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    let last = -1;
    let since = performance.now();
    await pollUntil(() => {
      if (sent !== last) since = performance.now();
      last = sent;
      return sent > 0 && performance.now() - since > 200;
    }, 'the sender to stop');
    expect(sent).to.be.lessThan(400);
    let received = 0;
    for await (const part of response) received += part.length;
    expect(received).to.equal(600 * chunk.length);
  });

  it('aborts the far side when the client leaves, before and during the answer', async () => {
    for (const isEarly of [true, false]) {
      let far: ServerResponse | undefined;
      const origin = await serve((req, res) => {
        far = res;
        req.resume();
        if (!isEarly) res.write('begun');
      });
      const client = request(await relayTo(origin), { method: 'POST' });
      let isAnswered = false;
      client.on('error', () => {});
      client.on('response', () => {
        isAnswered = true;
      });
      client.end('body');
      await pollUntil(() => far !== undefined && (isEarly || isAnswered), 'the request');
      client.destroy();
      await pollUntil(() => far!.destroyed, 'the abort');
    }
    await pollUntil(() => outcomes.length === 2, 'both outcomes');
    expect(outcomes[1]).to.deep.equal({ result: 'broken', hasClientLeft: true });
  });

  it('cuts the answer when the far side breaks off', async () => {
    const far = await serve((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      setTimeout(() => res.destroy(), 20);
    });
    const cut = await fetch(await relayTo(far));
    expect(await cut.text().catch(() => 'cut')).to.equal('cut');
    expect(outcomes).to.deep.equal([{ result: 'broken', hasClientLeft: false }]);
  });

  it('says that another may be tried when nobody took the connection, with the body untouched', async () => {
    const closed = await serve(() => {});
    servers[0]!.close();
    const good = await serve(async (req, res) => res.end(Buffer.concat(await req.toArray())));
    const near = await serve(async (req, res) => {
      for (const origin of [closed, good]) {
        const outcome = await relay({ req, res, pool: pools.get(origin), path: '/', headers: {} });
        outcomes.push(outcome);
      }
    });
    const response = await fetch(near, { method: 'POST', body: 'kept' });
    expect(await response.text()).to.equal('kept');
    expect(outcomes[0]).to.include({ result: 'failed', canRetry: true });
  });

  it('says that no other may be tried once something was sent', async () => {
    const far = await serve((req) => req.socket.destroy());
    const response = await fetch(await relayTo(far), { method: 'POST', body: 'sent' });
    expect(response.status).to.equal(599);
    expect(outcomes[0]).to.include({ result: 'failed', canRetry: false });
  });
});

describe('the pools of a relay', () => {
  it('go when they are not wanted or not used any more, and come back when asked for', async () => {
    const pools = new Pools();
    const [first, second] = [pools.get('http://127.0.0.1:1'), pools.get('http://127.0.0.1:2')];
    expect(pools.get('http://127.0.0.1:1')).to.equal(first);
    pools.keepOnly(new Set(['http://127.0.0.1:2']));
    expect(pools.get('http://127.0.0.1:1')).to.not.equal(first);
    pools.closeIdle(60_000);
    expect(pools.get('http://127.0.0.1:2')).to.equal(second);
    pools.closeIdle(-1);
    expect(pools.get('http://127.0.0.1:2')).to.not.equal(second);
    await pools.destroy();
  });

  it('let requests in flight finish when they go, and keep no connection', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let open = 0;
    const server = createServer((_, res) => void promise.then(() => res.end('late')));
    server.on('connection', (socket) => {
      open++;
      socket.on('close', () => open--);
    });
    await listen(server, 0, '127.0.0.1');
    const origin = `http://127.0.0.1:${readServerPort(server)}`;
    const pools = new Pools();
    const answer = pools.get(origin).request({ path: '/', method: 'GET' });
    await pollUntil(() => open === 1, 'the connection');
    pools.keepOnly(new Set());
    resolve();
    expect(await (await answer).body.text()).to.equal('late');
    await pollUntil(() => open === 0, 'the connection to close');
    await pools.destroy();
    server.close();
  });
});

describe('the headers of a relay', () => {
  it('leave out what belongs to one connection, what Connection names and what outsiders may not say', () => {
    const selected = selectRequestHeaders({
      host: 'chat.example.com',
      connection: 'keep-alive, X-Hop',
      'x-hop': '1',
      'keep-alive': 'timeout=5',
      'transfer-encoding': 'chunked',
      te: 'trailers',
      upgrade: 'h2c',
      expect: '100-continue',
      'x-berth-reservation': 'forged',
      accept: '*/*',
    });
    expect(selected).to.deep.equal({ host: 'chat.example.com', accept: '*/*' });
  });
});
