import { expect } from 'chai';
import { nameCounter } from '../../../api/budget.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { AdmittedBudgets } from '../../../gateway/account/account.ts';
import { Settlements, type SettlementTiming } from '../../../gateway/account/settlements.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics, type GatewayMetrics } from '../../../gateway/telemetry/metrics.ts';
import { settle } from '../../../redis/admission/admission-calls.ts';
import { chargeWorkspace, refundWorkspace } from '../../../redis/admission/credit.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { ReplyLoss } from '../../support/reply-loss.ts';
import { newToken } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const DAY_MS = 86_400_000;
const namespace = 'team';
const user = { namespace, username: 'ws:team', password: 'secret' };

describe('the settlement of usage', () => {
  let stack: TestStack;
  let relay: ReplyLoss;
  let tenant: RedisConnection;
  let metrics: GatewayMetrics;
  let sha256: string;
  let settlements: Settlements;
  let count = 0;

  before(async () => {
    stack = await TestStack.start();
    relay = await ReplyLoss.start(stack.server);
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(relay, { ...user, role: 'sidecar' });
  });
  after(async () => {
    await tenant?.close();
    await relay?.stop();
    await stack?.stop();
  });
  beforeEach(async () => {
    await stack.redis.flushdb();
    sha256 = (++count).toString(16).padStart(64, '0').split('').reverse().join('');
    metrics = createMetrics();
    settlements = open();
  });

  const open = (timing: Partial<SettlementTiming> = {}) =>
    new Settlements({
      redis: tenant.redis,
      log: createLog('silent'),
      metrics,
      timing: { collectMs: 1, backoff: { baseMs: 5, maxMs: 20 }, ...timing },
    });
  const dayKey = () => workKeys(namespace).tpd(sha256, Math.floor(Date.now() / DAY_MS));
  const readTokens = async () => Number((await stack.redis.get(dayKey())) ?? 0);
  const readSpent = async () => Number((await stack.redis.get(workKeys(namespace).credit)) ?? 0);
  const charge = (tokens: number, price: number) =>
    settlements.charge({ namespace, keyHash: sha256, tokens, price });
  const readLost = async () => Number(/settlements_lost_total (\d+)/.exec(await metrics.render())![1]);

  for (const tokens of [1e25, 1e19, Number.POSITIVE_INFINITY, Number.NaN, -1, 0.5])
    it(`of others is not lost with one of ${tokens} tokens`, async () => {
      charge(5, 7);
      charge(tokens, 2);
      charge(6, 8);
      await settlements.close();
      expect(await readTokens()).to.equal(11);
      expect(await readSpent()).to.equal(17);
      expect(await readLost()).to.equal(1);
    });

  for (const price of [Number.NaN, -1])
    it(`goes on after a price of ${price}`, async () => {
      expect(charge(1, price)).to.equal(0);
      expect(charge(1, 2.5)).to.equal(2);
      expect(charge(1, 2.5)).to.equal(3);
      await settlements.close();
      expect(await readTokens()).to.equal(3);
      expect(await readSpent()).to.equal(5);
    });

  describe('of a key with a budget', () => {
    const NEVER_MS = 1_000_000;
    const text = (name: string) => `key:${name},100000000,Month`;
    const budgetsOf = (fields: Partial<AdmittedBudgets> = {}): AdmittedBudgets => ({
      ...{ text: text('a'), leftMicros: 100_000_000, asOf: performance.now() },
      ...fields,
    });
    const longAgo = () => budgetsOf({ asOf: performance.now() - 60_000 });
    const chargeOne = (budgets: AdmittedBudgets) =>
      settlements.charge({ namespace, keyHash: sha256, tokens: 1, price: 1, budgets });
    const spentOf = async (name: string) => {
      const counter = nameCounter({ kind: 'key', name }, 'Month', Date.now());
      return Number(await stack.redis.get(workKeys(namespace).spent(counter)));
    };
    const countSettled = async () => (await stack.redis.keys(workKeys(namespace).settled('*'))).length;
    beforeEach(() => {
      settlements = open({ collectMs: NEVER_MS });
    });
    afterEach(() => settlements.close());

    it('is batched however long the requests took, while others of the key are admitted', async () => {
      settlements.note(sha256, budgetsOf());
      for (let index = 0; index < 50; index++) chargeOne(longAgo());
      await settlements.close();
      expect(await countSettled()).to.equal(1);
      expect(await spentOf('a')).to.equal(50);
    });

    it('is sent at once if nothing was heard of the budget for a while', async () => {
      settlements.note(sha256, longAgo());
      chargeOne(longAgo());
      await pollUntil(async () => (await spentOf('a')) === 1);
    });

    it('is sent at once if it is much of what is left', async () => {
      settlements.note(sha256, budgetsOf({ leftMicros: 63 }));
      chargeOne(budgetsOf({ asOf: performance.now() - 1 }));
      await pollUntil(async () => (await spentOf('a')) === 1);
    });

    it('goes to the budgets that Redis named last', async () => {
      settlements.note(sha256, budgetsOf({ text: text('b') }));
      chargeOne(longAgo());
      await settlements.close();
      expect([await spentOf('a'), await spentOf('b')]).to.deep.equal([0, 1]);
      settlements = open({ collectMs: NEVER_MS });
      settlements.note(sha256, budgetsOf({ text: text('b') }));
      settlements.note(sha256, null);
      chargeOne(longAgo());
      await settlements.close();
      expect(await spentOf('a'), 'the key has none any more').to.equal(1);
    });
  });

  it('does not grow beyond what is exact', async () => {
    for (let index = 0; index < 4; index++) charge(Number.MAX_SAFE_INTEGER, 1e300);
    await settlements.close();
    settlements = open();
    charge(1, 1);
    await settlements.close();
    expect(await readTokens()).to.equal(Number.MAX_SAFE_INTEGER);
    expect(await readSpent()).to.equal(Number.MAX_SAFE_INTEGER);
  });

  for (const text of ['mine', '1.5', '9223372036854775807', '9'.repeat(40)])
    it(`counts on from nothing where a tenant wrote ${text.slice(0, 20)}`, async () => {
      await tenant.redis.set(dayKey(), text);
      await tenant.redis.set(workKeys(namespace).credit, text);
      charge(5, 7);
      await settlements.close();
      expect(await readTokens()).to.equal(5);
      expect(await readSpent()).to.equal(7);
      expect(await stack.redis.ttl(dayKey())).to.be.above(86_400);
    });

  for (const amounts of [
    ['1.5', '1'],
    ['1', '-1'],
    ['1e3', '1'],
    ['1', '9007199254740992'],
  ])
    it(`is refused whole where Redis is sent ${amounts.join(' and ')}`, async () => {
      const marker = workKeys(namespace).settled('t');
      const call = tenant.redis.fcall(FUNCTIONS.settle, 1, marker, namespace, sha256, ...amounts);
      expect(String(await rejection(call))).to.include('must be whole numbers');
      expect(await stack.redis.keys('w:*')).to.deep.equal([]);
      // The same token still counts.
      expect(await settle(tenant.redis, { namespace, sha256, tokens: 1, micros: 1, token: 't' })).to.equal(
        true,
      );
    });

  it('of an image is refused whole for a price that is none, and refunds what was debited', async () => {
    const { charged, credit } = workKeys(namespace);
    const token = newToken();
    const call = tenant.redis.fcall(FUNCTIONS.charge, 1, charged(token), namespace, '1.5');
    expect(String(await rejection(call))).to.include('must be a whole number');
    expect(await stack.redis.exists(charged(token), credit)).to.equal(0);
    await chargeWorkspace(tenant.redis, { namespace, token, micros: 60 });
    await tenant.redis.set(charged(token), 'mine');
    expect(await refundWorkspace(tenant.redis, { namespace, token })).to.equal(false);
    expect(await readSpent()).to.equal(60);
  });

  for (const seed of listSeeds())
    it(`is exact whatever replies are lost, in random order (seed ${seed})`, async () => {
      const random = seedRandom(seed);
      const sum = { tokens: 0, micros: 0 };
      for (let round = 0; round < 25; round++) {
        for (let request = Math.floor(random() * 4); request >= 0; request--) {
          const [tokens, price] = [1 + Math.floor(random() * 1_000), Math.floor(random() * 1_000)];
          sum.tokens += tokens;
          sum.micros += charge(tokens, price);
        }
        const chance = random();
        if (chance < 0.5) {
          const { lost } = relay;
          relay.loseNext(FUNCTIONS.settle);
          await pollUntil(() => relay.lost > lost, 'a reply to be lost');
        } else if (chance < 0.75)
          await pollUntil(async () => (await readTokens()) === sum.tokens, 'all to be settled');
      }
      await pollUntil(async () => (await readTokens()) === sum.tokens, 'all to be settled');
      await tenant.untilUp(60_000);
      await settlements.close();
      expect(await readTokens()).to.equal(sum.tokens);
      expect(await readSpent()).to.equal(sum.micros);
      expect(await readLost()).to.equal(0);
    });
});
