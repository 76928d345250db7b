import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import { proxyRequest } from '../../../../gateway/front/proxy.ts';
import { ReplicaPicker } from '../../../../gateway/front/replica-picker.ts';
import { SilenceWatch } from '../../../../gateway/front/silence-watch.ts';
import { beginRequestSpan, Exchange } from '../../../../gateway/http/exchange.ts';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { createTracer } from '../../../../gateway/tracing/recording.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { listen, readServerPort } from '../../../../kit/http-server.ts';
import { pollUntil } from '../../../support/poll.ts';
import { startTraceReceiver } from '../../../support/trace-receiver.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

describe('what a replica is sent of a trace', () => {
  /** Sends a request that no replica accepts; returns the headers that arrive there. */
  async function send(headers: Record<string, string>): Promise<Record<string, string>> {
    let sent = {};
    const pool = {
      dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
        sent = options.headers as object;
        handler.onResponseError?.({} as never, Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
        return true;
      },
    };
    const req = { method: 'GET', url: '/v1/models', headers, socket: {} } as unknown as IncomingMessage;
    const exchange = new Exchange(req, new EventEmitter() as ServerResponse, 'id');
    const options = { resource: {}, log: createLog('silent'), onSpans: () => {} };
    const tracer = createTracer({ endpoint: 'http://127.0.0.1:1', sampleRatio: 0 }, options);
    beginRequestSpan(tracer, exchange);
    const pools = { get: () => pool } as unknown as Pools;
    await proxyRequest(
      { pools, picker: new ReplicaPicker(), silence: new SilenceWatch(async () => true), replicaPort: 80 },
      { exchange, addresses: ['127.0.0.1'] },
    );
    await tracer.close();
    return sent;
  }

  it("is the caller's state with the caller's trace", async () => {
    const sent = await send({ traceparent: `00-${TRACE}-b7ad6b7169203331-00`, tracestate: 'vendor=1' });
    expect(sent.traceparent).to.match(new RegExp(`^00-${TRACE}-`));
    expect(sent.tracestate).to.equal('vendor=1');
  });

  it('is no state of a trace that is not gone on with', async () => {
    const sent = await send({ traceparent: 'nonsense', tracestate: 'vendor=1' });
    expect(sent.traceparent).to.match(/^00-/);
    expect(sent).to.not.have.property('tracestate');
  });
});

describe('a replica that cannot be reached', () => {
  /** The replica that other requests try first, after one that failed at 10.0.0.1 so. */
  async function findNext(code: string, port?: number): Promise<string | undefined> {
    const pool = {
      dispatch: (_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
        handler.onResponseError?.({} as never, Object.assign(new Error(code), { code }));
        return true;
      },
    };
    const req = { method: 'GET', url: '/', headers: {}, socket: {} } as unknown as IncomingMessage;
    const exchange = new Exchange(req, new EventEmitter() as ServerResponse, 'id');
    const picker = new ReplicaPicker();
    const pools = { get: () => pool } as unknown as Pools;
    const silence = new SilenceWatch(async () => true);
    const proxy = { pools, picker, silence, replicaPort: 80 };
    expect(await proxyRequest(proxy, { exchange, addresses: ['10.0.0.1'], port })).to.equal('none');
    const firsts = [0, 1].map(() => picker.rank(['10.0.0.1', '10.0.0.2'])[0]);
    return new Set(firsts).size === 1 ? firsts[0] : undefined;
  }

  it('is tried last, also by requests for an adapter', async () => {
    for (const port of [undefined, 20_000])
      for (const code of ['UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH'])
        expect(await findNext(code, port), code).to.equal('10.0.0.2');
    expect(await findNext('ECONNREFUSED')).to.equal('10.0.0.2');
  });

  it('is not told from one whose port for an adapter alone is closed', async () =>
    expect(await findNext('ECONNREFUSED', 20_000)).to.equal(undefined));
});

describe('a replica that closes a connection as a request is written to it', () => {
  it('is sent a small body once more, on a fresh connection', async () => {
    const bodies: string[] = [];
    const used = new WeakSet<object>();
    const replica = createServer(async (req, res) => {
      bodies.push(await text(req));
      if (used.has(req.socket)) req.socket.destroy();
      else res.end('answered');
      used.add(req.socket);
    });
    let resent = 0;
    const pools = new Pools({ onResend: () => resent++ });
    const outcomes: string[] = [];
    const front = createServer(async (req, res) => {
      const proxy = {
        pools,
        picker: new ReplicaPicker(),
        silence: new SilenceWatch(async () => true),
        replicaPort: readServerPort(replica),
      };
      const exchange = new Exchange(req, res, 'id');
      outcomes.push(await proxyRequest(proxy, { exchange, addresses: ['127.0.0.1'] }));
    });
    for (const server of [replica, front]) await listen(server, 0, '127.0.0.1');
    await pollUntil(async () => {
      const init = { method: 'POST', body: 'a body' };
      const response = await fetch(`http://127.0.0.1:${readServerPort(front)}`, init);
      return (await response.text()) === 'answered' && resent > 0;
    }, 'a request on a connection that was used before');
    expect(resent).to.equal(1);
    expect(new Set(bodies)).to.deep.equal(new Set(['a body']));
    expect(new Set(outcomes)).to.deep.equal(new Set(['answered']));
    await pools.destroy();
    for (const server of [front, replica]) server.close().closeAllConnections();
  });
});

describe('the span of an attempt at a replica', () => {
  /** Names of the exported spans of an unsampled request whose response breaks off. */
  async function breakOff(hasClientLeft: boolean): Promise<string[]> {
    const receiver = await startTraceReceiver();
    const res = Object.assign(new EventEmitter(), { destroyed: false });
    const pool = {
      dispatch: (_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
        handler.onResponseStart?.({} as never, 200, {});
        res.destroyed = hasClientLeft;
        handler.onResponseError?.({} as never, new Error('cut'));
        return true;
      },
    };
    const req = { method: 'GET', url: '/', headers: {}, socket: {} } as unknown as IncomingMessage;
    const exchange = new Exchange(req, res as unknown as ServerResponse, 'id');
    const options = { resource: {}, log: createLog('silent'), onSpans: () => {} };
    const tracer = createTracer({ endpoint: receiver.endpoint, sampleRatio: 0 }, options);
    beginRequestSpan(tracer, exchange);
    const answer = { begin: () => {}, write: () => true, end: () => {}, break: () => {} };
    const proxy = {
      pools: { get: () => pool } as unknown as Pools,
      picker: new ReplicaPicker(),
      silence: new SilenceWatch(async () => true),
      replicaPort: 80,
    };
    await proxyRequest(proxy, { exchange, addresses: ['127.0.0.1'], answer });
    exchange.span!.end();
    await tracer.close();
    receiver.stop();
    return receiver.spans.map(({ name }) => name);
  }

  it('is a failure where the replica breaks off its answer', async () =>
    expect(await breakOff(false)).to.deep.equal(['GET', 'replica']));

  it('is none where the client has left', async () => expect(await breakOff(true)).to.deep.equal([]));
});
