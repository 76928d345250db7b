import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { encodeBudget, nameCounter } from '../../../api/budget.ts';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { Settlements } from '../../../gateway/account/settlements.ts';
import { Admissions } from '../../../gateway/auth/admission.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { connectTo } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';
import { loadTimedLibrary, setTime } from '../../support/timed-library.ts';

const namespace = 'one';
const COST = 10;
const NOW = '2026-11-15T12:00:00Z';

describe('budgets while several replicas serve and lease', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let connections: RedisConnection[];
  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(async () => {
    await stack.redis.flushdb();
    await loadTimedLibrary(stack.redis);
    await setTime(stack.redis, NOW);
    connections = await Promise.all([1, 2, 3].map(() => connectTo(stack.server)));
  });
  afterEach(() => Promise.all(connections.map((each) => each.close())));
  after(() => stack?.stop());

  function openReplica(connection: RedisConnection) {
    const [log, metrics, { redis }] = [createLog('silent'), createMetrics(), connection];
    const settlements = new Settlements({ redis, log, metrics });
    const admissions = new Admissions({ redis, log, metrics, settlements });
    void admissions.refresh();
    let isKilled = false;
    const answers = new WeakSet<object>();
    let leased = 0;
    return {
      /** Requests that were admitted by a lease, whose answer they share. */
      countLeased: () => leased,
      /** One request after the other until one is refused; returns why. */
      work: async (sha256: string): Promise<string> => {
        for (;;) {
          if (isKilled) return 'killed';
          try {
            const answer = admissions.admit({ namespace, sha256, counted: 'all' });
            leased += Number(answers.has(answer));
            answers.add(answer);
            const { budgets } = await answer;
            await nextTurn();
            if (!isKilled)
              settlements.charge({ namespace, keyHash: sha256, budgets, tokens: 1, price: COST });
          } catch (error) {
            if (isKilled) return 'killed';
            if (error instanceof ApiError) return error.message;
            throw error;
          }
        }
      },
      /** Neither what is in flight nor what is not settled yet reaches Redis. */
      kill: () => {
        isKilled = true;
        redis.disconnect();
      },
      close: () => Promise.all([admissions.refresh(), settlements.close()]),
    };
  }

  async function publishKeys(count: number, fields: object) {
    const keys = Array.from({ length: count }, (_, i) => ({
      name: `key-${i}`,
      sha256: i.toString(16).padStart(64, '0').split('').reverse().join(''),
    }));
    const entries = keys.flatMap(({ name, sha256 }) => [
      sha256,
      JSON.stringify({ n: name, rpm: 60_000, tpd: 1e12, exp: 0, off: 0, ...fields }),
    ]);
    await stack.redis.hset(configKeys(namespace).apiKeys, ...entries);
    return keys;
  }
  const spentOf = async (kind: 'key' | 'owner', ...names: string[]) => {
    const counters = names.map((name) => nameCounter({ kind, name }, 'Month', Date.parse(NOW)));
    return (await stack.redis.mget(counters.map(workKeys(namespace).spent))).map(Number);
  };

  /** A worker has one request running, and at most one whose usage is on its way. */
  const inFlight = (workers: number) => 2 * workers * COST;

  it('let 100 keys spend no more than what is in flight above their budgets, with one replica killed', async () => {
    const budget = 5 * COST;
    const bud = encodeBudget({ micros: budget, period: 'Month', warnAt: [50, 100] });
    const keys = await publishKeys(100, { bud });
    const replicas = connections.map(openReplica);
    const work = keys.flatMap(({ sha256 }) => replicas.map((replica) => replica.work(sha256)));
    await Promise.race(work);
    replicas[0]!.kill();
    const ends = await Promise.all(work);
    for (const end of new Set(ends.filter((end) => end !== 'killed')))
      expect(end).to.match(
        /^The budget of this API key is used up: 0.00005 per month. The next period begins at /,
      );
    await Promise.all(replicas.map((replica) => replica.close()));
    for (const spent of await spentOf('key', ...keys.map(({ name }) => name)))
      expect(spent).to.be.within(budget, budget + inFlight(replicas.length));
    expect(
      await stack.redis.zcard(workKeys(namespace).outbox),
      'one warning per key and percentage',
    ).to.equal(200);
  });

  it('hold on both levels over the leases of all replicas', async () => {
    const [own, ofOwner] = [2_000 * COST, 3_000 * COST];
    const month = { period: 'Month', warnAt: [] } as const;
    const keys = await publishKeys(2, { own: 'team', bud: encodeBudget({ micros: own, ...month }) });
    const owner = encodeBudget({ micros: ofOwner, ...month });
    await stack.redis.hset(configKeys(namespace).workspace, 'owner:team', owner);
    const replicas = connections.map(openReplica);
    const workers = 4;
    const ends = await Promise.all(
      keys.flatMap(({ sha256 }) =>
        replicas.flatMap((replica) => Array.from({ length: workers }, () => replica.work(sha256))),
      ),
    );
    await Promise.all(replicas.map((replica) => replica.close()));
    expect(ends.some((end) => end.startsWith('The budget of the owner team of this API key'))).to.equal(true);
    const each = inFlight(workers * replicas.length);
    const spent = await spentOf('key', ...keys.map(({ name }) => name));
    for (const one of spent) expect(one).to.be.at.most(own + each);
    const [total] = await spentOf('owner', 'team');
    expect(spent[0]! + spent[1]!).to.equal(total);
    expect(total).to.be.within(ofOwner, ofOwner + keys.length * each);
    for (const replica of replicas) expect(replica.countLeased()).to.be.above(0);
  });
});
