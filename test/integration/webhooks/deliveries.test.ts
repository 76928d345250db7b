import { expect } from 'chai';
import { configKeys, deliveryKeys, workKeys } from '../../../api/redis-keys.ts';
import {
  type Attempt,
  type DeliveryTarget,
  expandEvent,
  leaseDeliveries,
  settleDelivery,
  takeEvents,
} from '../../../redis/deliveries/delivery-calls.ts';
import {
  type DeliveryRecord,
  forgetEndpoint,
  readDeliveryDetail,
  readDeliveryLog,
  readEndpointHealth,
  resetEndpointHealth,
} from '../../../redis/deliveries/delivery-log.ts';
import { resendDeliveries } from '../../../redis/deliveries/resend.ts';
import { passTime } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const HOOK: DeliveryTarget = { url: 'https://a.example/hook', endpoint: 'first' };
const OTHER: DeliveryTarget = { url: 'https://b.example/hook', endpoint: 'second' };
const INLINE: DeliveryTarget = { url: 'https://c.example/hook', endpoint: '' };
const EXCHANGE = { sentAt: 1_700_000_000_000, tookMs: 12, answerHeaders: { server: 'test' } };
const SUCCESS: Attempt = { isDelivered: true, status: 200, error: '', waitMs: 0, exchange: EXCHANGE };
const failed = (waitMs: number): Attempt => ({
  isDelivered: false,
  status: 500,
  error: 'answered 500',
  waitMs,
  exchange: null,
});

describe('webhook deliveries in Redis', () => {
  let stack: TestStack;
  let namespace: string;
  let count = 0;

  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(() => {
    namespace = `space-${++count}`;
  });
  after(async () => {
    await stack?.stop();
  });

  const put = async (id: string, url = '') => {
    const keys = workKeys(namespace);
    await stack.redis.set(keys.event(id), `${url}\n{"id":"${id}"}`);
    await stack.redis.zadd(keys.outbox, 0, id);
  };
  const expand = (id: string, ...targets: DeliveryTarget[]) =>
    expandEvent(
      stack.redis,
      { namespace, id, type: 'request.completed', requestId: id.replace('evt', 'req') },
      targets,
    );
  const lease = (options: { limit?: number; perDestination?: number; leaseMs?: number } = {}) =>
    leaseDeliveries(stack.redis, namespace, {
      limit: 100,
      perDestination: 4,
      leaseMs: 60_000,
      ...options,
    });
  const attempt = async (outcome: Attempt) => {
    const { leased } = await lease();
    for (const delivery of leased) await settleDelivery(stack.redis, delivery, outcome);
    return leased;
  };
  /** All attempts and waits, to the end. */
  const fail = async () => {
    const abandoned = [];
    for (let round = 0; round < 4; round++) {
      abandoned.push(...(await lease({ limit: 0 })).abandoned);
      const leases = await lease();
      abandoned.push(...leases.abandoned);
      for (const delivery of leases.leased) await settleDelivery(stack.redis, delivery, failed(0));
    }
    return abandoned;
  };

  it('makes one delivery for each target, and leases it with what is to be sent', async () => {
    await put('evt_1');
    expect(await expand('evt_1', HOOK, INLINE)).to.equal(2);
    const { leased, nextInMs } = await lease();
    expect(leased.map(({ url, attempt: number, body }) => [url, number, body])).to.have.deep.members([
      [HOOK.url, 1, '{"id":"evt_1"}'],
      [INLINE.url, 1, '{"id":"evt_1"}'],
    ]);
    expect(nextInMs).to.be.greaterThan(30_000);
    expect((await lease()).leased).to.deep.equal([]);
  });

  it('creates them once, also if another front has read the outbox', async () => {
    await put('evt_1');
    const made = await Promise.all([expand('evt_1', HOOK), expand('evt_1', HOOK)]);
    expect(made.toSorted()).to.deep.equal([0, 1]);
    expect(await stack.redis.exists(workKeys(namespace).event('evt_1'))).to.equal(0);
  });

  it('forgets an event that nobody wants', async () => {
    await put('evt_1');
    expect(await expand('evt_1')).to.equal(0);
    expect(await stack.redis.keys(`*{${namespace}}*`)).to.deep.equal([]);
  });

  it('keeps one id over all attempts', async () => {
    await put('evt_1');
    await expand('evt_1', HOOK);
    const [first] = await attempt(failed(0));
    const [second] = await attempt(SUCCESS);
    expect(second!.id).to.equal(first!.id);
    expect(second!.attempt).to.equal(2);
    expect((await lease()).nextInMs).to.equal(null);
    expect(await readDeliveryLog(stack.redis, namespace)).to.have.length(1);
    const [record] = await readDeliveryLog(stack.redis, namespace);
    expect(record).to.include({ state: 'delivered', attempts: 2, status: 200, error: '', endpoint: 'first' });
  });

  it('waits as configured between attempts', async () => {
    await put('evt_1');
    await expand('evt_1', HOOK);
    await attempt(failed(30_000));
    const { leased, nextInMs } = await lease();
    expect(leased).to.deep.equal([]);
    expect(nextInMs).to.be.within(10_000, 30_000);
  });

  it('gives up after three attempts and the last wait, and says so once', async () => {
    await put('evt_1');
    await expand('evt_1', INLINE);
    const abandoned = await fail();
    expect(abandoned.map(({ url, requestId }) => [url, requestId])).to.deep.equal([[INLINE.url, 'req_1']]);
    const [record] = await readDeliveryLog(stack.redis, namespace);
    expect(record).to.include({ state: 'failed', attempts: 3, status: 500, error: 'answered 500' });
  });

  it('gives a delivery whose front was lost to the next, and counts the attempt', async () => {
    await put('evt_1');
    await expand('evt_1', HOOK);
    const [lost] = (await lease({ leaseMs: 1 })).leased;
    await passTime(stack.redis, 2);
    const [again] = (await lease()).leased;
    expect(again).to.include({ id: lost!.id, attempt: 2 });
    expect(await settleDelivery(stack.redis, lost!, SUCCESS)).to.equal(false);
    expect(await settleDelivery(stack.redis, again!, SUCCESS)).to.equal(true);
  });

  it('holds a destination to its places, and serves the others meanwhile', async () => {
    for (let i = 0; i < 10; i++) {
      await put(`evt_${i}`);
      await expand(`evt_${i}`, HOOK, OTHER);
    }
    const { leased } = await lease({ perDestination: 2 });
    expect(leased.filter(({ url }) => url === HOOK.url)).to.have.length(2);
    await settleDelivery(stack.redis, leased.find(({ url }) => url === OTHER.url)!, SUCCESS);
    const next = (await lease({ perDestination: 2 })).leased;
    expect(next.map(({ url }) => url)).to.deep.equal([OTHER.url]);
  });

  it('disables an endpoint after 20 failures in a row, and ends what waits for it', async () => {
    await resetEndpointHealth(stack.redis, namespace, 'first');
    for (let i = 0; i < 20; i++) {
      await put(`evt_${i}`);
      await expand(`evt_${i}`, HOOK);
      if (i === 10) await attempt(SUCCESS);
      else await fail();
    }
    expect(await readEndpointHealth(stack.redis, namespace, 'first')).to.deep.equal({
      failures: 9,
      disabledAt: null,
    });
    for (let i = 20; i < 31; i++) {
      await put(`evt_${i}`);
      await expand(`evt_${i}`, HOOK);
      await fail();
    }
    const { failures, disabledAt } = await readEndpointHealth(stack.redis, namespace, 'first');
    expect(failures).to.equal(20);
    expect(disabledAt).to.be.a('number');
    await put('evt_99');
    await expand('evt_99', HOOK);
    expect((await lease()).leased).to.deep.equal([]);
    await resetEndpointHealth(stack.redis, namespace, 'first');
    await put('evt_100');
    expect(await expand('evt_100', HOOK)).to.equal(1);
  });

  it('count nothing for an endpoint that got another URL, or was re-enabled, since they were made', async () => {
    const failures = async () => (await readEndpointHealth(stack.redis, namespace, 'first')).failures;
    await resetEndpointHealth(stack.redis, namespace, 'first');
    await put('evt_old');
    await expand('evt_old', HOOK);
    await resetEndpointHealth(stack.redis, namespace, 'first');
    await fail();
    expect(await failures()).to.equal(0);
    await put('evt_new');
    await expand('evt_new', HOOK);
    await fail();
    expect(await failures()).to.equal(1);
    await put('evt_late');
    await expand('evt_late', HOOK);
    await resetEndpointHealth(stack.redis, namespace, 'first');
    await stack.redis.hset(deliveryKeys(namespace).endpoint('first'), 'failures', 5);
    await attempt(SUCCESS);
    expect(await failures()).to.equal(5);
  });

  const ENDED = [
    {
      case: 'was deleted',
      end: () => forgetEndpoint(stack.redis, namespace, 'first'),
      error: 'the endpoint was deleted',
    },
    {
      case: 'was disabled',
      end: () =>
        stack.redis.hset(configKeys(namespace).endpoints, 'first', JSON.stringify({ enabled: false })),
      error: 'the endpoint was disabled',
    },
  ];
  for (const { case: what, end, error } of ENDED)
    it(`send nothing more to an endpoint that ${what}`, async () => {
      await resetEndpointHealth(stack.redis, namespace, 'first');
      await put('evt_1');
      await expand('evt_1', HOOK);
      await end();
      const { leased, nextInMs } = await lease();
      expect({ leased, nextInMs }).to.deep.equal({ leased: [], nextInMs: null });
      const [record] = await readDeliveryLog(stack.redis, namespace);
      expect(record).to.include({ state: 'failed', attempts: 0, error });
      expect((await readEndpointHealth(stack.redis, namespace, 'first')).failures).to.equal(0);
    });

  it('drops a row that a tenant made longer after it was read', async () => {
    await put('evt_1', 'x'.repeat(129 * 1024));
    expect(await expand('evt_1', HOOK)).to.equal(0);
    expect(await stack.redis.keys(`*{${namespace}}*`)).to.deep.equal([]);
  });

  it('drops what a tenant put into the outbox that is longer than any id', async () => {
    await stack.redis.zadd(workKeys(namespace).outbox, -1, 'x'.repeat(17 * 1024));
    await put('evt_1');
    const events = await takeEvents(stack.redis, namespace, { limit: 1, leaseMs: 0 });
    expect(events).to.deep.equal([]);
    expect(await stack.redis.zrevrange(workKeys(namespace).outbox, 0, -1)).to.deep.equal(['evt_1']);
  });

  it('keeps at most 1,000 callbacks whose owner was not notified yet', async () => {
    const { mail } = deliveryKeys(namespace);
    const waiting = Array.from({ length: 1_000 }, (_, i) => [i, `{"delivery":"dlv_${i}"}`]).flat();
    await stack.redis.zadd(mail, ...waiting);
    await put('evt_1');
    await expand('evt_1', INLINE);
    await fail();
    expect(await stack.redis.zcard(mail)).to.equal(1_000);
    expect((await stack.redis.zrevrange(mail, 0, 0))[0]).to.include('evt_1');
  });

  it('are remembered for 30 days', async () => {
    await put('evt_1');
    await expand('evt_1', HOOK);
    const [delivery] = await attempt(SUCCESS);
    const keys = deliveryKeys(namespace);
    for (const key of [keys.log, keys.delivery(delivery!.id)])
      expect(await stack.redis.ttl(key), key).to.be.within(29 * 86_400, 30 * 86_400);
  });

  describe('to a callback at the address of an endpoint', () => {
    const CALLBACK: DeliveryTarget = { url: HOOK.url, endpoint: '' };
    const disable = () =>
      stack.redis.hset(`d:{${namespace}}:endpoint:first`, 'failures', 20, 'disabled_at', 1);
    const countMails = () => stack.redis.zcard(deliveryKeys(namespace).mail);

    it('are one, in the name of the endpoint', async () => {
      await put('evt_1');
      expect(await expand('evt_1', HOOK, CALLBACK)).to.equal(1);
      expect(await attempt(SUCCESS)).to.have.length(1);
      expect(await readDeliveryLog(stack.redis, namespace)).to.have.length(1);
    });

    it('notify the owner when they fail, and count for the endpoint', async () => {
      await resetEndpointHealth(stack.redis, namespace, 'first');
      await put('evt_1');
      await expand('evt_1', HOOK, CALLBACK);
      await fail();
      expect(await countMails()).to.equal(1);
      expect((await readEndpointHealth(stack.redis, namespace, 'first')).failures).to.equal(1);
    });

    it('are made though the endpoint is disabled', async () => {
      await disable();
      await put('evt_1');
      expect(await expand('evt_1', HOOK, CALLBACK)).to.equal(1);
      expect((await attempt(SUCCESS)).map(({ endpoint }) => endpoint)).to.deep.equal(['']);
    });

    it('are attempted though the endpoint was disabled meanwhile', async () => {
      await put('evt_1');
      await expand('evt_1', HOOK, CALLBACK);
      await disable();
      expect((await attempt(SUCCESS)).map(({ endpoint }) => endpoint)).to.deep.equal(['']);
    });
  });

  describe('that are resent', () => {
    const redis = () => stack.redis;
    const resend = async (url = HOOK.url) => {
      const [record] = await readDeliveryLog(redis(), namespace);
      return (await resendDeliveries(redis(), namespace, [{ ...record!, url }]))[0];
    };

    const failAll = async () => {
      const isPending = ({ state }: DeliveryRecord) => state === 'pending';
      while ((await readDeliveryLog(redis(), namespace)).some(isPending)) await fail();
    };

    it('are attempted again with the same id and body, and keep their earlier attempts', async () => {
      await put('evt_1');
      await expand('evt_1', HOOK);
      expect(await resend()).to.equal('pending');
      await fail();
      expect(await resend()).to.equal('done');
      const [again] = await attempt(SUCCESS);
      expect([again!.attempt, again!.body, again!.url]).to.deep.equal([1, '{"id":"evt_1"}', HOOK.url]);
      const log = await readDeliveryLog(redis(), namespace);
      expect(log.map(({ state, id }) => [state, id])).to.deep.equal([['delivered', again!.id]]);
      const { body, attempts } = await readDeliveryDetail(redis(), namespace, log[0]!);
      expect(body).to.equal('{"id":"evt_1"}');
      expect(attempts.map(({ status }) => status)).to.deep.equal([500, 500, 500, 200]);
      expect(attempts.map(({ exchange }) => exchange)).to.deep.equal([null, null, null, EXCHANGE]);
    });

    it('go to where the endpoint leads now', async () => {
      await put('evt_1');
      await expand('evt_1', HOOK);
      await fail();
      expect(await resend(OTHER.url)).to.equal('done');
      expect((await attempt(SUCCESS)).map(({ url, endpoint }) => [url, endpoint])).to.deep.equal([
        [OTHER.url, 'first'],
      ]);
    });

    it('deliver what a disabled endpoint missed, once it is enabled', async () => {
      await redis().hset(`d:{${namespace}}:endpoint:first`, 'failures', 20, 'disabled_at', 1);
      await put('evt_1');
      await expand('evt_1', HOOK);
      expect((await lease()).leased).to.deep.equal([]);
      const [missed] = await readDeliveryLog(redis(), namespace);
      expect(missed).to.include({ state: 'failed', attempts: 0, error: 'the endpoint was disabled' });
      await resetEndpointHealth(redis(), namespace, 'first');
      expect(await resend()).to.equal('done');
      expect((await attempt(SUCCESS)).map(({ body }) => body)).to.deep.equal(['{"id":"evt_1"}']);
    });

    it('are refused where the event is not kept any more', async () => {
      await put('evt_1');
      await expand('evt_1', HOOK);
      await fail();
      await redis().del(deliveryKeys(namespace).body('evt_1'));
      expect(await resend()).to.equal('expired');
      expect(
        await resendDeliveries(redis(), namespace, [{ id: 'dlv_none', eventId: 'evt_1', url: HOOK.url }]),
      ).to.deep.equal(['unknown']);
    });

    it('are sent by the fifty, or as many as their addresses leave room for', async () => {
      for (const [count, url, calls] of [
        [60, HOOK.url, 2],
        [16, `https://hooks.example/${'x'.repeat(8_000)}`, 2],
      ] as const) {
        for (let i = 0; i < count; i++) {
          await put(`evt_${count}_${i}`);
          await expand(`evt_${count}_${i}`, HOOK);
        }
        await failAll();
        const records = await readDeliveryLog(redis(), namespace, { limit: count });
        await redis().config('RESETSTAT');
        const answers = await resendDeliveries(
          redis(),
          namespace,
          records.map((record) => ({ ...record, url })),
        );
        expect(answers).to.deep.equal(records.map(() => 'done'));
        expect(await redis().info('commandstats')).to.match(new RegExp(`cmdstat_fcall:calls=${calls},`));
        await failAll();
      }
    });
  });

  it('never counts test events, and sends them to a disabled endpoint, too', async () => {
    await stack.redis.hset(`d:{${namespace}}:endpoint:first`, 'failures', 20, 'disabled_at', 1);
    const made = await expandEvent(
      stack.redis,
      { namespace, id: 'evt_t', type: 'webhook.test', requestId: '', testBody: '{"_service_test":true}' },
      [HOOK],
    );
    expect(made).to.equal(1);
    await fail();
    expect((await readEndpointHealth(stack.redis, namespace, 'first')).failures).to.equal(20);
    const [record] = await readDeliveryLog(stack.redis, namespace);
    expect(record).to.include({ isTest: true, state: 'failed', requestId: '' });
  });

  it('remembers the latest 1,000, shows them by pages of 200, and loses none that is under way', async () => {
    for (let i = 0; i < 1_005; i++) {
      await put(`evt_${i}`);
      await expand(`evt_${i}`, HOOK);
    }
    const pages = [];
    for (let after: string | undefined; ; after = pages.at(-1)!.at(-1)!.id) {
      const page = await readDeliveryLog(stack.redis, namespace, { after });
      if (page.length === 0) break;
      pages.push(page);
    }
    expect(pages.map((page) => page.length)).to.deep.equal([200, 200, 200, 200, 200]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).to.equal(1_000);
    const forgotten = { after: `dlv_${'0'.repeat(32)}` };
    expect(await readDeliveryLog(stack.redis, namespace, forgotten), 'after the end').to.deep.equal([]);
    let delivered = 0;
    for (;;) {
      const leased = await attempt(SUCCESS);
      delivered += leased.length;
      if (leased.length === 0) break;
    }
    expect(delivered).to.equal(1_005);
    const records = await stack.redis.keys(`d:{${namespace}}:delivery:*`);
    expect(records).to.have.length(1_000);
  });
});
