import { expect } from 'chai';
import { type Budget, encodeBudget, findPeriod, nameCounter } from '../../../api/budget.ts';
import { configKeys, type PublishedKey, workKeys } from '../../../api/redis-keys.ts';
import { listDeliveryTargets } from '../../../gateway/webhooks/dispatcher.ts';
import { composeDigestMail, composeFailureMail } from '../../../gateway/webhooks/mail-text.ts';
import { admit, settle } from '../../../redis/admission/admission-calls.ts';
import { readBudget, restoreBudgets } from '../../../redis/admission/budgets.ts';
import { chargeWorkspace, refundWorkspace } from '../../../redis/admission/credit.ts';
import { expandEvent, takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { takeMail } from '../../../redis/deliveries/owner-mail.ts';
import { cancelRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { publishApiKey } from '../../support/publication.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';
import { loadTimedLibrary, setTime } from '../../support/timed-library.ts';

const namespace = 'one';
const MONTH: Budget = { micros: 100, period: 'Month', warnAt: [] };
const BEFORE = '2026-11-30T23:59:50Z';
const AFTER = '2026-12-01T00:00:10Z';

describe('budgets', () => {
  let stack: TestStack;
  let count = 0;
  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(async () => {
    await stack.redis.flushdb();
    await loadTimedLibrary(stack.redis);
    await setTime(stack.redis, BEFORE);
  });
  after(() => stack?.stop());

  async function makeKey({ budget, ...fields }: Partial<PublishedKey> & { budget?: Budget } = {}) {
    const name = `key-${++count}`;
    const sha256 = count.toString(16).padStart(64, '0').split('').reverse().join('');
    const bud = budget && encodeBudget(budget);
    const key = { n: name, rpm: 60_000, tpd: 1e9, exp: 0, off: 0 as const, ...(bud && { bud }), ...fields };
    await publishApiKey(stack.redis, namespace, sha256, key);
    return { name, sha256, ask: () => admit(stack.redis, { namespace, sha256, counted: 'all' }) };
  }
  type Key = Awaited<ReturnType<typeof makeKey>>;
  const setOwner = (name: string, budget: Budget) =>
    stack.redis.hset(configKeys(namespace).workspace, `owner:${name}`, encodeBudget(budget));
  const spend = async (key: Key, micros: number) => {
    const budgets = (await key.ask()).budgets?.text;
    await settle(stack.redis, {
      namespace,
      sha256: key.sha256,
      tokens: 1,
      micros,
      token: newToken(),
      budgets,
    });
  };
  const spentOf = async (kind: 'key' | 'owner', name: string, at: string, budget = MONTH) => {
    const holder = { kind, name };
    return (await readBudget(stack.redis, namespace, { holder, budget, at: Date.parse(at) })).spentMicros;
  };
  const listWarnings = async () =>
    (await takeEvents(stack.redis, namespace, { limit: 50, leaseMs: 0 })).map(
      ({ body }) => JSON.parse(body).data as { name: string; threshold: number; spent: string },
    );

  it('refuse a key once its budget is spent, and say when the next period begins', async () => {
    const key = await makeKey({ budget: MONTH });
    expect(await key.ask()).to.deep.include({ verdict: 'ok', creditLeft: true });
    await spend(key, 99);
    expect((await key.ask()).budgets).to.include({ leftMicros: 1 });
    await spend(key, 5);
    const { verdict, creditLeft, budgets, rpm } = await key.ask();
    // What gateways without budgets read.
    expect({ verdict, creditLeft }).to.deep.equal({ verdict: 'credit', creditLeft: false });
    expect(budgets?.leftMicros).to.equal(0);
    expect(budgets?.tightest).to.deep.equal({
      ...{ kind: 'key', name: key.name, micros: 100, period: 'Month' },
      endsAt: Date.UTC(2026, 11, 1) / 1000,
    });
    expect(rpm.remaining, 'a refused request is not counted').to.equal(60_000 - 4);
  });

  it('hold on both levels: of the key, and of its owner over all keys', async () => {
    await setOwner('team', { ...MONTH, micros: 150 });
    const [one, two] = [await makeKey({ budget: MONTH, own: 'team' }), await makeKey({ own: 'team' })];
    const other = await makeKey({ own: 'unknown' });
    await spend(one, 100);
    expect((await one.ask()).budgets?.tightest).to.include({ kind: 'key', name: one.name });
    expect((await two.ask()).budgets).to.deep.include({ leftMicros: 50 });
    await spend(two, 50);
    expect(await two.ask()).to.include({ verdict: 'credit' });
    expect((await two.ask()).budgets?.tightest).to.include({ kind: 'owner', name: 'team' });
    expect(await other.ask()).to.deep.include({ verdict: 'ok', budgets: null });
    expect(await spentOf('owner', 'team', BEFORE)).to.equal(150);
  });

  it('begin again with each calendar period in UTC, as the programs count them', async function () {
    this.timeout(20_000);
    const periods = ['Day', 'Week', 'Month'] as const;
    const keys = await Promise.all(periods.map((period) => makeKey({ budget: { ...MONTH, period } })));
    const days = Array.from({ length: 30 }, (_, i) => Date.UTC(2027, 11, 20 + 13 * i, 23, 59, 59));
    for (const day of [...days, Date.UTC(2028, 1, 28), Date.UTC(2028, 1, 29), Date.UTC(2100, 2, 1)])
      for (const at of [day, day + 1_000]) {
        await setTime(stack.redis, new Date(at).toISOString());
        for (const [i, period] of periods.entries()) {
          const { budgets } = await keys[i]!.ask();
          expect(budgets?.tightest.endsAt, new Date(at).toISOString()).to.equal(
            findPeriod(period, at).endsAt / 1_000,
          );
        }
      }
  });

  it('count a request in the period in which it is settled, also across the border', async () => {
    const key = await makeKey({ budget: MONTH });
    await spend(key, 100);
    const admitted = await key.ask();
    await setTime(stack.redis, AFTER);
    expect(await key.ask()).to.include({ verdict: 'ok' });
    const late = { namespace, sha256: key.sha256, tokens: 1, micros: 7, token: newToken() };
    await settle(stack.redis, { ...late, budgets: admitted.budgets!.text });
    expect(await settle(stack.redis, { ...late, budgets: admitted.budgets!.text }), 'a repeat').to.equal(
      false,
    );
    expect(await spentOf('key', key.name, BEFORE)).to.equal(100);
    expect(await spentOf('key', key.name, AFTER)).to.equal(7);
  });

  it('bound the price of an image, and get it back in the period that paid for it', async () => {
    const key = await makeKey({ budget: MONTH, own: 'team' });
    await setOwner('team', { ...MONTH, micros: 1_000 });
    const budgets = (await key.ask()).budgets!.text;
    const charge = (micros: number, token = newToken()) =>
      chargeWorkspace(stack.redis, { namespace, token, micros, budgets });
    const token = newToken();
    for (let i = 0; i < 2; i++) expect(await charge(60, token)).to.equal(null);
    expect(await charge(41)).to.deep.include({ kind: 'key', name: key.name, micros: 100, leftMicros: 40 });
    expect(await charge(40)).to.equal(null);
    expect(await charge(0), 'nothing is left').to.include({ kind: 'key' });
    await setTime(stack.redis, AFTER);
    expect(await charge(5)).to.equal(null);
    for (const isRefunded of [true, false])
      expect(await refundWorkspace(stack.redis, { namespace, token })).to.equal(isRefunded);
    for (const [kind, name] of [
      ['key', key.name],
      ['owner', 'team'],
    ] as const) {
      expect(await spentOf(kind, name, BEFORE)).to.equal(40);
      expect(await spentOf(kind, name, AFTER)).to.equal(5);
    }
    expect(await stack.redis.get(workKeys(namespace).credit)).to.equal('45');
  });

  it('bound queued requests, and get their price back in the period of their submission', async () => {
    await publishMedia(stack.redis, { namespace, name: 'film' });
    const key = await makeKey({ budget: MONTH });
    const budgets = (await key.ask()).budgets!.text;
    const submit = (priceMicros: number) => {
      const submission = submissionOf({
        namespace,
        deployment: 'film',
        sha256: key.sha256,
        priceMicros,
        budgets,
      });
      return submitRequest(stack.redis, submission);
    };
    const accepted = await submit(60);
    if (accepted.verdict !== 'accepted') throw new Error(accepted.verdict);
    const refused = await submit(41);
    expect(refused.verdict === 'budget' && refused.budget).to.include({ name: key.name, leftMicros: 40 });
    expect(await spentOf('key', key.name, BEFORE)).to.equal(60);
    await setTime(stack.redis, AFTER);
    await submit(10);
    const { id } = accepted;
    for (let i = 0; i < 2; i++) await cancelRequest(stack.redis, { namespace, id, token: 'same' });
    expect(await spentOf('key', key.name, BEFORE)).to.equal(0);
    expect(await spentOf('key', key.name, AFTER)).to.equal(10);
  });

  it('warn once per period and percentage, however many replicas settle at once', async () => {
    const key = await makeKey({ budget: { ...MONTH, warnAt: [50, 80] } });
    const budgets = (await key.ask()).budgets!.text;
    const settleOne = () =>
      settle(stack.redis, {
        namespace,
        sha256: key.sha256,
        tokens: 0,
        micros: 1,
        token: newToken(),
        budgets,
      });
    await Promise.all(Array.from({ length: 49 }, settleOne));
    expect(await listWarnings()).to.deep.equal([]);
    await Promise.all(Array.from({ length: 20 }, settleOne));
    const [first, ...more] = await listWarnings();
    expect(first).to.deep.equal({
      ...{ namespace_name: namespace, budget: 'key', name: key.name, threshold: 50, period: 'Month' },
      ...{ spent: '0.00005', amount: '0.0001', period_ends_at: Date.UTC(2026, 11, 1) / 1_000 },
    });
    expect(more).to.deep.equal([]);
    // A refund, and then the same percentage again.
    await stack.redis.decrby(
      workKeys(namespace).spent(nameCounter({ kind: 'key', name: key.name }, 'Month', Date.parse(BEFORE))),
      40,
    );
    await Promise.all(Array.from({ length: 80 }, settleOne));
    expect((await listWarnings()).map(({ threshold }) => threshold).sort()).to.deep.equal([50, 80]);
    await setTime(stack.redis, AFTER);
    await Promise.all(Array.from({ length: 60 }, settleOne));
    expect(await listWarnings(), 'of the next period').to.have.length(3);
  });

  it('warn again of a raised amount in the same period, also after a charge with the earlier one', async () => {
    const budget: Budget = { ...MONTH, warnAt: [50] };
    const key = await makeKey({ budget });
    const textOf = async ({ ask }: Key) => (await ask()).budgets!.text;
    const earlier = await textOf(key);
    const raised = await textOf(await makeKey({ n: key.name, budget: { ...budget, micros: 200 } }));
    const settleWith = (budgets: string, micros: number) =>
      settle(stack.redis, { namespace, sha256: key.sha256, tokens: 0, micros, token: newToken(), budgets });
    await settleWith(earlier, 60);
    await settleWith(raised, 20);
    await settleWith(earlier, 10);
    await settleWith(raised, 20);
    await settleWith(earlier, 1);
    const events = await takeEvents(stack.redis, namespace, { limit: 50, leaseMs: 0 });
    const amounts = events.map(({ body }) => JSON.parse(body).data.amount as string);
    expect(amounts.sort()).to.deep.equal(['0.0001', '0.0002']);
  });

  it('send a warning to endpoints that list it alone, and one mail to the owner of the workspace', async () => {
    const key = await makeKey({ budget: { ...MONTH, warnAt: [50] } });
    await spend(key, 60);
    const [event] = await takeEvents(stack.redis, namespace, { limit: 50, leaseMs: 0 });
    const endpoint = { v: 1, url: 'https://example.com', enabled: true } as const;
    const requests = ['request.completed', 'request.failed', 'request.canceled'];
    const endpoints = new Map([
      ['default', { ...endpoint, eventTypes: requests }],
      ['budgets', { ...endpoint, eventTypes: ['budget.warning'] }],
    ]);
    const targets = listDeliveryTargets(event!, endpoints);
    expect(targets.map(({ endpoint }) => endpoint)).to.deep.equal(['budgets']);
    for (const created of [1, 0])
      expect(await expandEvent(stack.redis, { ...event!, namespace }, targets)).to.equal(created);
    const mails = await takeMail(stack.redis, namespace, 10);
    expect(mails).to.have.length(1);
    const { subject, text } = composeFailureMail(namespace, mails[0]!.callback);
    expect(subject).to.equal('[Berth] A budget of the workspace one is running out');
    expect(text).to.contain(
      `The budget of the API key ${key.name} has reached 50 %: 0.00006 of 0.0001 per month are spent. ` +
        'Its next period begins at 2026-12-01T00:00:00.000Z.',
    );
    expect(composeDigestMail(namespace, [mails[0]!.callback, mails[0]!.callback]).subject).to.contain(
      '2 more budgets',
    );
  });

  it('are in a mail as texts and numbers, whatever a tenant wrote', () => {
    const strange = { toString: 1, valueOf: 1 };
    const data = {
      budget: strange,
      name: strange,
      threshold: [strange],
      spent: null,
      period_ends_at: strange,
    };
    const mail = { delivery: '', event: '', type: 'budget.warning', request: '', url: '', error: '', at: 0 };
    expect(composeFailureMail(namespace, { ...mail, body: JSON.stringify({ data }) }).text).to.match(
      /^The budget of the API key \? has reached \? %: \? of \? per \? are spent\.\n/,
    );
  });

  it('keep what the status said when Redis lost its data, and do not warn again', async () => {
    const budget: Budget = { ...MONTH, warnAt: [50, 80] };
    const key = await makeKey({ budget });
    const holder = { kind: 'key', name: key.name } as const;
    const at = Date.parse(BEFORE);
    const { endsAt } = findPeriod('Month', at);
    const restore = (periodEndsAt: number) =>
      restoreBudgets(stack.redis, namespace, {
        budgets: [{ holder, budget, spentMicros: 70, periodEndsAt }],
        at,
      });
    await restore(endsAt - 86_400_000);
    expect((await key.ask()).budgets?.leftMicros, 'of an earlier period').to.equal(100);
    await restore(endsAt);
    expect((await key.ask()).budgets?.leftMicros).to.equal(30);
    await spend(key, 1);
    expect(await listWarnings()).to.deep.equal([]);
    await spend(key, 9);
    expect((await listWarnings()).map(({ threshold }) => threshold)).to.deep.equal([80]);
    await restore(endsAt);
    expect((await key.ask()).budgets?.leftMicros, 'a counter that exists stays').to.equal(20);
  });

  for (const [what, write] of [
    ['no number', (counter: string) => stack.redis.set(counter, 'abc')],
    ['a hash', (counter: string) => stack.redis.hset(counter, 'a', 'b')],
    ['the largest number', (counter: string) => stack.redis.set(counter, '9223372036854775807')],
    ['a negative one', (counter: string) => stack.redis.set(counter, '-5')],
  ] as const)
    it(`are restored where a tenant wrote ${what}, and those beside it`, async () => {
      const at = Date.parse(BEFORE);
      const keys = [await makeKey({ budget: MONTH }), await makeKey({ budget: MONTH })] as const;
      const holders = keys.map(({ name }) => ({ kind: 'key', name }) as const);
      const counters = workKeys(namespace);
      await write(counters.spent(nameCounter(holders[0]!, 'Month', at)));
      await stack.redis.hset(counters.warned(nameCounter(holders[0]!, 'Month', at)), 'a', 'b');
      const { endsAt: periodEndsAt } = findPeriod('Month', at);
      const budget: Budget = { ...MONTH, warnAt: [50] };
      const budgets = holders.map((holder) => ({ holder, budget, spentMicros: 70, periodEndsAt }));
      const strange = [Number.NaN, 1e300].map((spentMicros) => ({ ...budgets[1]!, spentMicros }));
      await restoreBudgets(stack.redis, namespace, { budgets: [...strange, ...budgets], at });
      for (const key of keys) {
        expect((await key.ask()).budgets?.leftMicros, key.name).to.equal(30);
        await spend(key, 1);
      }
      expect(await listWarnings()).to.deep.equal([]);
      for (const holder of holders)
        expect(await stack.redis.pttl(counters.spent(nameCounter(holder, 'Month', at)))).to.be.above(0);
    });

  it('name the deployments that a key may call', async () => {
    expect((await (await makeKey({ dep: 'chat,embed' })).ask()).deployments).to.deep.equal(['chat', 'embed']);
    const { deployments, budgets, lease } = await (await makeKey({ dep: 'chat', budget: MONTH })).ask();
    expect({ deployments, left: budgets?.leftMicros, lease }).to.deep.equal({
      deployments: ['chat'],
      left: 100,
      lease: null,
    });
  });

  it('bound leases: none in the last eighth of a budget, and no more to spend than what is left', async () => {
    const key = await makeKey({ budget: { ...MONTH, micros: 800 } });
    const lease = async () =>
      (await admit(stack.redis, { namespace, sha256: key.sha256, counted: 'all', leased: 10 })).lease;
    expect(await lease()).to.include({ requests: 10, creditMicros: 800 });
    await setTime(stack.redis, '2026-11-30T23:59:59Z');
    expect((await lease())?.ms, 'ends with the period').to.be.at.most(1_000);
    await spend(key, 699);
    expect(await lease()).to.include({ creditMicros: 101 });
    await spend(key, 1);
    expect(await lease()).to.equal(null);
  });

  it('cost keys without them no further command', async () => {
    await loadTimedLibrary(stack.redis);
    await stack.redis.del('test:now');
    const commandsOf = async (key: Key) => {
      await key.ask();
      await stack.redis.config('RESETSTAT');
      await key.ask();
      await settle(stack.redis, {
        namespace,
        sha256: key.sha256,
        tokens: 1,
        micros: 1,
        token: newToken(),
        budgets: undefined,
      });
      await chargeWorkspace(stack.redis, { namespace, token: newToken(), micros: 1 });
      const stats = await stack.redis.info('commandstats');
      const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, calls]) => [
        name,
        Number(calls),
      ]);
      return Object.fromEntries(calls.filter(([name]) => !['info', 'config', 'get'].includes(String(name))));
    };
    const others = {
      ...{ fcall: 3, time: 3, getrange: 1, incr: 1, pttl: 1, set: 2, incrby: 3, expire: 1, exists: 1 },
    };
    expect(await commandsOf(await makeKey())).to.deep.equal({ ...others, hget: 3 });
    const owned = await commandsOf(await makeKey({ own: 'team' }));
    expect(owned, 'an owner without a budget').to.deep.equal({ ...others, hget: 2, hmget: 1 });
  });

  for (const text of [
    'key:a',
    'key:a,1,Year',
    'key:a,1,Month;'.repeat(3),
    `key:a,1,Month${',50'.repeat(300)}`,
    'key:a,-1,Day',
  ])
    it(`are refused as ${text.slice(0, 40)} before anything is counted`, async () => {
      const settlement = { namespace, sha256: 'a'.repeat(64), tokens: 1, micros: 1, token: newToken() };
      const failure = await settle(stack.redis, { ...settlement, budgets: text }).catch(
        (error: Error) => error,
      );
      expect(failure).to.be.instanceOf(Error);
      expect(await stack.redis.keys('w:*')).to.deep.equal([]);
    });
});
