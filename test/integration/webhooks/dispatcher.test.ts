import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type PublishedEndpoint, workKeys } from '../../../api/redis-keys.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import {
  Dispatcher,
  type DispatcherOptions,
  type PublishedWebhooks,
} from '../../../gateway/webhooks/dispatcher.ts';
import { signDelivery } from '../../../gateway/webhooks/signature.ts';
import { WEBHOOKS_IN_FLIGHT } from '../../../gateway/webhooks/webhook-service.ts';
import type { AbandonedDelivery } from '../../../redis/deliveries/delivery-calls.ts';
import {
  type LoggedAttempt,
  readDeliveryDetail,
  readDeliveryLog,
} from '../../../redis/deliveries/delivery-log.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Fractions of the real times; an attempt's is well above any stall of the machine. */
const TIMING = { attemptMs: 3_000, waitAfter: (attempt: number) => 5 * 2 ** attempt };
const ALL_TYPES = ['request.completed', 'request.failed', 'request.canceled'];

describe('the webhook dispatcher', () => {
  let stack: TestStack;
  let receiver: Server;
  let origin: string;
  let namespace: string;
  let count = 0;
  let secret: string | null;
  let endpoints: Map<string, PublishedEndpoint>;
  const received: Received[] = [];
  const abandoned: AbandonedDelivery[] = [];
  const dispatchers: Dispatcher[] = [];
  const agent = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });
  const seen = new Map<string, number>();

  /** What a receiver does, by path. */
  const behaviors: Record<string, RequestListener> = {
    '/204': (_, res) => res.writeHead(204).end(),
    '/500': (_, res) => res.writeHead(500).end('secret of the inside'),
    '/redirect': (_, res) => res.writeHead(302, { location: '/200' }).end(),
    '/hang': () => {},
    '/close': (req) => req.socket.destroy(),
    '/200-unended': (_, res) => res.writeHead(200).write('working'),
    '/200-broken': (_, res) =>
      res.writeHead(200, { 'content-length': '100' }).write('x', () => res.destroy()),
    '/second': (req, res) => {
      seen.set(req.url!, (seen.get(req.url!) ?? 0) + 1);
      res.writeHead(seen.get(req.url!)! > 1 ? 200 : 503).end();
    },
  };

  before(async () => {
    stack = await TestStack.start();
    receiver = createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      received.push({ path: req.url!, headers: req.headers, body });
      (behaviors[req.url!.split('?')[0]!] ?? ((_, response) => response.writeHead(200).end()))(req, res);
    }).listen({ port: 0, host: '127.0.0.1', backlog: 2_048 });
    await once(receiver, 'listening');
    origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    namespace = `space-${++count}`;
    secret = 'whsec_test';
    endpoints = new Map();
    received.length = 0;
    abandoned.length = 0;
    seen.clear();
  });
  afterEach(async () => {
    await Promise.all(dispatchers.splice(0).map((dispatcher) => dispatcher.close()));
  });
  after(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await agent.close();
    await stack?.stop();
  });

  const published: PublishedWebhooks = {
    readEndpoints: async () => endpoints,
    recallEndpoints: async () => endpoints,
    readSecrets: async () =>
      secret === null ? null : { workspace: { current: secret, previous: null }, endpoints: new Map() },
  };
  const start = (options: Partial<DispatcherOptions> = {}) => {
    const dispatcher = new Dispatcher({
      redis: stack.redis,
      agent,
      published,
      onAbandoned: (delivery) => abandoned.push(delivery),
      log: createLog('silent', {}),
      timing: TIMING,
      ...options,
    });
    dispatchers.push(dispatcher);
    return dispatcher;
  };
  const subscribe = (name: string, path: string, eventTypes = ALL_TYPES) =>
    endpoints.set(name, { v: 1, url: origin + path, eventTypes, enabled: true });
  const bodyOf = (id: string, type: string) =>
    JSON.stringify({ id, type, created_at: 1, data: { id: id.replace('evt', 'req'), status: 'succeeded' } });
  const put = async (id: string, { type = 'request.completed', path = '' } = {}) => {
    const keys = workKeys(namespace);
    await stack.redis.set(keys.event(id), `${path && origin + path}\n${bodyOf(id, type)}`);
    await stack.redis.zadd(keys.outbox, 0, id);
  };
  const readLog = () => readDeliveryLog(stack.redis, namespace);
  const untilEnded = (number: number, timeoutMs = 30_000) =>
    pollUntil(
      async () => (await readLog()).filter(({ state }) => state !== 'pending').length >= number,
      `${number} ended deliveries`,
      timeoutMs,
    );

  it('sends the exact body with its signature, type and delivery id', async () => {
    subscribe('all', '/200');
    await put('evt_1');
    start({ clock: () => 1_700_000_000_000 }).wake(namespace);
    await untilEnded(1);
    const [{ headers, body }] = received as [Received];
    expect(body).to.equal(bodyOf('evt_1', 'request.completed'));
    expect(headers['x-service-signature']).to.equal(
      signDelivery(Buffer.from(body), { current: 'whsec_test', previous: null }, 1_700_000_000_000),
    );
    expect(headers).to.include({
      'x-service-event': 'request.completed',
      'user-agent': 'Service-Webhook/1.0',
      'content-type': 'application/json',
    });
    const [record] = await readLog();
    expect(headers['x-service-delivery-id']).to.equal(record!.id);
    expect(record).to.include({ state: 'delivered', attempts: 1, status: 200, requestId: 'req_1' });
  });

  it('notes when each attempt was sent, how long it took, and which headers came back', async () => {
    subscribe('all', '/redirect');
    await put('evt_1');
    start({ clock: () => 1_700_000_000_000 }).wake(namespace);
    await untilEnded(1);
    const { attempts } = await readDeliveryDetail(stack.redis, namespace, (await readLog())[0]!);
    const [{ exchange }] = attempts as [LoggedAttempt];
    expect(exchange).to.include({ sentAt: 1_700_000_000_000 });
    expect(exchange!.tookMs).to.be.within(0, TIMING.attemptMs);
    expect(exchange!.answerHeaders).to.include({ location: '/200' });
  });

  it('sends one event to endpoints and callback under one id, each with a delivery of its own', async () => {
    subscribe('all', '/200');
    subscribe('failures', '/failures', ['request.failed']);
    subscribe('more', '/more', ['request.completed']);
    await put('evt_1', { path: '/inline' });
    start().wake(namespace);
    await untilEnded(3);
    expect(received.map(({ path }) => path)).to.have.members(['/200', '/more', '/inline']);
    expect(new Set(received.map(({ body }) => body))).to.have.length(1);
    expect(new Set(received.map(({ headers }) => headers['x-service-delivery-id']))).to.have.length(3);
  });

  it('sends once where callback and endpoint are the same address', async () => {
    subscribe('all', '/200');
    await put('evt_1', { path: '/200' });
    start().wake(namespace);
    await untilEnded(1);
    expect(received).to.have.length(1);
    expect((await readLog())[0]).to.include({ endpoint: 'all' });
  });

  it('calls back where the endpoint of the same address is disabled', async () => {
    subscribe('all', '/200');
    await stack.redis.hset(`d:{${namespace}}:endpoint:all`, 'failures', 20, 'disabled_at', 1);
    await put('evt_1', { path: '/200' });
    start().wake(namespace);
    await untilEnded(1);
    expect(received).to.have.length(1);
    expect((await readLog())[0]).to.include({ endpoint: '', state: 'delivered' });
  });

  const outcomes: [path: string, attempts: number, state: string, status: number | null, error: RegExp][] = [
    ['/204', 1, 'delivered', 204, /^$/],
    ['/200-unended', 1, 'delivered', 200, /^$/],
    ['/200-broken', 1, 'delivered', 200, /^$/],
    ['/500', 3, 'failed', 500, /^answered 500$/],
    ['/redirect', 3, 'failed', 302, /^answered 302; redirects are not followed$/],
    ['/hang', 3, 'failed', null, /did not respond in time$/],
    ['/close', 3, 'failed', null, /closed the connection/],
    ['/second', 2, 'delivered', 200, /^$/],
  ];
  /** Where an attempt's time has to pass. */
  const SHORTER: Record<string, { attemptMs: number }> = {
    '/hang': { attemptMs: 200 },
    '/200-unended': { attemptMs: 2_000 },
  };
  for (const [path, attempts, state, status, error] of outcomes)
    it(`ends as ${state} after ${attempts} attempts at ${path}`, async () => {
      await put('evt_1', { path });
      start({ timing: { ...TIMING, ...SHORTER[path] } }).wake(namespace);
      await untilEnded(1);
      const [record] = await readLog();
      expect(record).to.include({ state, attempts, status });
      expect(record!.error).to.match(error);
      expect(received).to.have.length(attempts);
      expect(new Set(received.map(({ headers }) => headers['x-service-delivery-id']))).to.have.length(1);
      expect(abandoned.map(({ eventId }) => eventId)).to.deep.equal(state === 'failed' ? ['evt_1'] : []);
    });

  it('signs each attempt with the secret of that moment, for older events too', async () => {
    await put('evt_1', { path: '/second' });
    const dispatcher = start({
      timing: { ...TIMING, waitAfter: () => 60_000 },
    });
    dispatcher.wake(namespace);
    await pollUntil(() => received.length === 1, 'the first attempt');
    secret = 'whsec_rolled';
    await pollUntil(
      async () => (await stack.redis.keys(`d:{${namespace}}:leased:*`)).length === 0,
      'its note',
    );
    const [due] = await stack.redis.keys(`d:{${namespace}}:due:*`);
    const [id] = await stack.redis.zrange(due!, '0', '0');
    await stack.redis.zadd(due!, 0, id!);
    await stack.redis.zadd(`d:{${namespace}}:destinations`, 0, String(due).split(':').at(-1)!);
    dispatcher.wake(namespace);
    await untilEnded(1);
    const { headers, body } = received[1]!;
    const time = Number(/t=(\d+)/.exec(String(headers['x-service-signature']))![1]);
    expect(headers['x-service-signature']).to.equal(
      signDelivery(Buffer.from(body), { current: 'whsec_rolled', previous: null }, time * 1_000),
    );
  });

  it('says what is missing where a workspace has no signing secret', async () => {
    secret = null;
    await put('evt_1', { path: '/200' });
    start().wake(namespace);
    await untilEnded(1);
    expect(received).to.deep.equal([]);
    expect((await readLog())[0]!.error).to.match(/no readable signing secret/);
  });

  it('delivers what a lost front had started', async () => {
    await put('evt_1', { path: '/200' });
    // It takes the delivery and is never heard of again.
    const lost = start({ agent: { request: () => new Promise(() => {}) } });
    lost.wake(namespace);
    await pollUntil(
      async () => (await stack.redis.keys(`d:{${namespace}}:leased:*`)).length === 1,
      'the lease',
    );
    dispatchers.length = 0;
    const [leased] = await stack.redis.keys(`d:{${namespace}}:leased:*`);
    const [id] = await stack.redis.zrange(leased!, '0', '0');
    await stack.redis.zadd(leased!, 0, id!);
    await stack.redis.zadd(`d:{${namespace}}:destinations`, 0, leased!.split(':').at(-1)!);
    start().wake(namespace);
    await untilEnded(1);
    expect((await readLog())[0]).to.include({ state: 'delivered', attempts: 2 });
  });

  it('delivers each event once in all where two fronts share the work', async () => {
    subscribe('all', '/200');
    for (let i = 0; i < 100; i++) await put(`evt_${i}`);
    for (const dispatcher of [start(), start()]) dispatcher.wake(namespace);
    await untilEnded(100);
    expect(received).to.have.length(100);
    expect(new Set(received.map(({ headers }) => headers['x-service-delivery-id']))).to.have.length(100);
  });

  it('serves all others while one endpoint hangs', async () => {
    subscribe('slow', '/hang');
    subscribe('quick', '/200');
    for (let i = 0; i < 60; i++) await put(`evt_${i}`);
    start({ timing: { attemptMs: 60_000, waitAfter: () => 60_000 } }).wake(namespace);
    await pollUntil(
      () => received.filter(({ path }) => path === '/200').length === 60,
      'the quick deliveries',
    );
    expect(received.filter(({ path }) => path === '/hang').length).to.be.at.most(8);
    receiver.closeAllConnections();
  });

  it('serves a workspace while all addresses of several others hang', async () => {
    const wide = new EgressAgent({
      allow: ['127.0.0.0/8'],
      deny: [],
      plainHTTP: true,
      inFlight: WEBHOOKS_IN_FLIGHT,
    });
    const [quick, workspaces, places] = [namespace, 5, 128];
    for (let i = 0; i < 16; i++) subscribe(`slow-${i}`, `/hang?${i}`);
    const dispatcher = start({
      agent: wide,
      published: {
        ...published,
        readEndpoints: async (each) => (each === quick ? new Map() : endpoints),
      },
      timing: { attemptMs: 60_000, waitAfter: () => 10 },
    });
    for (let each = 0; each < workspaces; each++) {
      namespace = `${quick}-${each}`;
      for (let i = 0; i < 8; i++) await put(`evt_${i}`);
      dispatcher.wake(namespace);
    }
    await pollUntil(() => received.length >= workspaces * places, 'all that hang', 60_000);
    namespace = quick;
    await put('evt_quick', { path: '/200' });
    dispatcher.wake(quick);
    await pollUntil(() => received.some(({ path }) => path === '/200'), 'the delivery of the other', 30_000);
    receiver.closeAllConnections();
    await wide.close();
  });
});
