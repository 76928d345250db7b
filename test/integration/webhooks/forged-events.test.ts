import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { deliveryKeys, type PublishedEndpoint, workKeys } from '../../../api/redis-keys.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { keepAnswerHeaders } from '../../../gateway/webhooks/answer-headers.ts';
import { Dispatcher } from '../../../gateway/webhooks/dispatcher.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { expandEvent, leaseDeliveries, settleDelivery } from '../../../redis/deliveries/delivery-calls.ts';
import { forgetDeliveries, readDeliveryLog } from '../../../redis/deliveries/delivery-log.ts';
import { resendDeliveries } from '../../../redis/deliveries/resend.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { weighWorkspaces } from '../../../redis/workspaces/server-use.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const KIB = 1024;
const MAX_MEMORY = 64 * KIB * KIB;
/** Share of it for what one workspace's events hold. */
const MAX_HELD = MAX_MEMORY / 32;
const HOOK = { url: 'https://a.example/hook', endpoint: '' };

/** Valid events that a workspace's Redis user put into its outbox: their bodies are copied to where it may write nothing. */
describe('events that a workspace’s Redis user forged', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  let count = 0;
  const namespace = 'evil';
  const keys = workKeys(namespace);
  const delivery = deliveryKeys(namespace);

  beforeEach(async () => {
    stack = await TestStack.start({ args: ['--maxmemory', String(MAX_MEMORY)] });
    await publishMedia(stack.redis, { namespace: 'other', name: 'film' });
    const user = { namespace, username: 'ws:evil', password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(stack.server, { ...user, role: 'sidecar' });
  });
  afterEach(async () => {
    await tenant.close();
    await stack?.stop();
  });

  async function forge(url = '', bytes = 64 * KIB): Promise<string> {
    const id = `evt_${String(++count).padStart(8, '0')}`;
    const head = `{"id":"${id}","type":"request.completed","created_at":1,"data":{"id":"req_${count}","x":"`;
    await tenant.redis.set(keys.event(id), `${url}\n${head}${'x'.repeat(bytes - head.length - 3)}"}}`);
    await tenant.redis.zadd(keys.outbox, 1, id);
    return id;
  }
  const expand = (id: string, targets = [HOOK]) =>
    expandEvent(stack.redis, { namespace, id, type: 'request.completed', requestId: 'req_1' }, targets);
  /** Makes deliveries until no more are made; answers how many were. */
  async function fill(bytes?: number): Promise<number> {
    for (let made = 0; ; made++) if ((await expand(await forge('', bytes))) === null) return made;
  }
  const deliver = async (limit: number) => {
    const { leased } = await leaseDeliveries(stack.redis, namespace, {
      limit,
      perDestination: 1_000,
      leaseMs: 60_000,
    });
    const success = { isDelivered: true, status: 200, error: '', waitMs: 0, exchange: null };
    for (const each of leased) await settleDelivery(stack.redis, each, success);
  };
  const countBodies = async () => (await stack.redis.keys(delivery.body('*'))).length;
  const readHeld = async () => Number(await stack.redis.hget(delivery.held, 'total'));

  it('stay in the outbox while those before them hold too much', async () => {
    const made = await fill();
    expect(made).to.be.within(20, MAX_HELD / (64 * KIB));
    expect(await stack.redis.zcard(keys.outbox)).to.equal(1);
    const [left] = await stack.redis.zrange(keys.outbox, 0, '-1');
    expect(await expand(left!)).to.equal(null);
    await deliver(1);
    expect(await expand(left!)).to.equal(1);
    expect(await countBodies()).to.equal(made);
    expect(await readHeld()).to.be.at.most(MAX_HELD);
  });

  it('are bounded in number, too, by what their deliveries take, with all attempts', async () => {
    const made = await fill(200);
    expect(made).to.be.within(300, 500);
    const answerHeaders = keepAnswerHeaders({
      location: 'x'.repeat(120),
      server: '\\'.repeat(50),
      via: '\\'.repeat(60),
    });
    const exchange = { sentAt: Date.now(), tookMs: 4_999, answerHeaders };
    const failure = { isDelivered: false, status: 500, error: 'x'.repeat(150), waitMs: 0, exchange };
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { leased } = await leaseDeliveries(stack.redis, namespace, {
        limit: 1_000,
        perDestination: 1_000,
        leaseMs: 60_000,
      });
      expect(leased).to.have.length(made);
      for (const each of leased) expect(await settleDelivery(stack.redis, each, failure)).to.equal(true);
    }
    expect((await weighWorkspaces(stack.redis, { exactly: true })).get(namespace)).to.be.below(MAX_HELD);
  });

  it('are delivered however many targets one has, if nothing else is', async () => {
    const targets = Array.from({ length: 1_000 }, (_, i) => ({
      url: `https://a.example/${i}${'x'.repeat(2_000)}`,
      endpoint: '',
    }));
    expect(await expand(await forge(), targets)).to.equal(1_000);
    expect(await expand(await forge())).to.equal(null);
  });

  it('are kept to be sent again as long as there is room, then dropped the oldest first', async () => {
    const made = await fill();
    await deliver(made);
    const before = await readDeliveryLog(stack.redis, namespace);
    for (let i = 0; i < 5; i++) {
      expect(await expand(await forge())).to.equal(1);
      await deliver(1);
    }
    expect(await countBodies()).to.be.within(made - 2, made + 1);
    const resend = async (record: (typeof before)[number]) =>
      (await resendDeliveries(stack.redis, namespace, [{ ...record, url: HOOK.url }]))[0];
    expect(await resend(before.at(-1)!), 'the oldest').to.equal('expired');
    expect(await resend(before[0]!), 'the latest').to.equal('done');
  });

  it('are sent again to new addresses only as long as there is room', async () => {
    await expand(await forge());
    await deliver(1);
    const [record] = await readDeliveryLog(stack.redis, namespace);
    const answers: unknown[] = [];
    for (let i = 0; i < 1_000; i++)
      answers.push(
        ...(await resendDeliveries(stack.redis, namespace, [
          { ...record!, url: `https://a.example/${i}${'x'.repeat(1_000)}` },
        ])),
      );
    expect(new Set(answers)).to.deep.equal(new Set(['done', 'full']));
    expect(await readHeld()).to.be.at.most(MAX_HELD);
  });

  it('leave nothing held by what has ended and gone', async () => {
    const made = await fill();
    await deliver(made);
    await stack.redis.del(keys.outbox);
    expect(await stack.redis.zcard(delivery.pending)).to.equal(0);
    expect(await stack.redis.zcard(delivery.kept)).to.equal(made);
    await forgetDeliveries(stack.redis, namespace);
    expect(await stack.redis.keys(`d:{${namespace}}:*`)).to.deep.equal([]);
  });

  it('count to the share of the workspace with all that is kept of them', async () => {
    const made = await fill();
    const weighed = (await weighWorkspaces(stack.redis)).get(namespace);
    expect(weighed).to.be.greaterThan(made * 64 * KIB);
  });

  describe('and that a front delivers', () => {
    let receiver: Server;
    let origin: string;
    let dispatcher: Dispatcher;
    const agent = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });

    beforeEach(async () => {
      receiver = createServer((req, res) => {
        req.resume();
        if (!req.url!.startsWith('/hang')) res.writeHead(200).end();
      }).listen({ port: 0, host: '127.0.0.1', backlog: 2_048 });
      await once(receiver, 'listening');
      origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
      dispatcher = new Dispatcher({
        redis: stack.redis,
        agent,
        published: {
          readEndpoints: async () => new Map<string, PublishedEndpoint>(),
          recallEndpoints: async () => new Map<string, PublishedEndpoint>(),
          readSecrets: async () => ({
            workspace: { current: 'whsec_test', previous: null },
            endpoints: new Map(),
          }),
        },
        onAbandoned: () => {},
        log: createLog('silent', {}),
        timing: { attemptMs: 100, waitAfter: () => 5 },
      });
    });
    afterEach(async () => {
      await dispatcher.close();
      receiver.closeAllConnections();
      receiver.close();
    });
    after(() => agent.close());

    for (const path of ['/hang', '/fast'])
      it(`take no memory from other workspaces, whatever the receiver does: ${path}`, async () => {
        let most = 0;
        for (let i = 0; i < 100; i++) await forge(`${origin}${path}?${i}`);
        await pollUntil(async () => {
          dispatcher.wake(namespace);
          most = Math.max(most, await countBodies());
          await submitRequest(stack.redis, submissionOf({ namespace: 'other', deployment: 'film' }));
          const ended = (await readDeliveryLog(stack.redis, namespace)).filter(({ endedAt }) => endedAt);
          return ended.length >= 40;
        }, 'more have ended than are held at once');
        expect(most).to.be.within(20, MAX_HELD / (64 * KIB));
      });
  });
});
