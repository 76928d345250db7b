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
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

const namespace = 'one';
const COST = 10;

describe('budgets while several replicas serve and lease', function () {
  this.timeout(120_000);
  let stack: TestStack;
  const connections: RedisConnection[] = [];
  before(async () => {
    stack = await TestStack.start();
    const user = { namespace, username: `ws:${namespace}`, password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    for (let i = 0; i < 3; i++) connections.push(await connectTo(stack.server, { ...user, role: 'sidecar' }));
  });
  beforeEach(() => stack.redis.flushdb());
  after(async () => {
    await Promise.all(connections.map((each) => each.close()));
    await stack?.stop();
  });

  function openReplica(connection: RedisConnection) {
    const [log, metrics, { redis }] = [createLog('silent'), createMetrics(), connection];
    const settlements = new Settlements({ redis, log, metrics });
    const admissions = new Admissions({ redis, log, metrics, settlements });
    void admissions.refresh();
    let isKilled = false;
    return {
      /** One request after the other until one is refused; returns why. */
      work: async (sha256: string): Promise<string> => {
        for (;;) {
          if (isKilled) return 'killed';
          try {
            const { budgets } = await admissions.admit({ namespace, sha256, counted: 'all' });
            await nextTurn();
            // What is in flight when a replica is killed is never settled.
            if (!isKilled)
              settlements.charge({ namespace, keyHash: sha256, budgets, tokens: 1, price: COST });
          } catch (error) {
            if (error instanceof ApiError) return error.message;
            throw error;
          }
        }
      },
      kill: () => {
        isKilled = true;
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
  const spentOf = async (kind: 'key' | 'owner', name: string) =>
    Number(
      await stack.redis.get(workKeys(namespace).spent(nameCounter({ kind, name }, 'Month', Date.now()))),
    );

  /** A worker has one request running, and at most one whose usage is on its way. */
  const inFlight = (workers: number) => 2 * workers * COST;

  it('let 1,000 keys spend no more than what is in flight above their budgets, with one replica killed', async () => {
    const budget = 5 * COST;
    const bud = encodeBudget({ micros: budget, period: 'Month', warnAt: [50, 100] });
    const keys = await publishKeys(1_000, { bud });
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
    for (const { name } of keys)
      expect(await spentOf('key', name), name).to.be.within(budget, budget + inFlight(replicas.length));
    expect(
      await stack.redis.zcard(workKeys(namespace).outbox),
      'one warning per key and percentage',
    ).to.equal(2_000);
  });

  it('hold on both levels over the leases of all replicas', async () => {
    const [own, ofOwner] = [2_000 * COST, 3_000 * COST];
    const month = { period: 'Month', warnAt: [] } as const;
    const keys = await publishKeys(2, { own: 'team', bud: encodeBudget({ micros: own, ...month }) });
    const owner = encodeBudget({ micros: ofOwner, ...month });
    await stack.redis.hset(configKeys(namespace).workspace, 'owner:team', owner);
    const replicas = connections.map(openReplica);
    const workers = 4;
    await stack.redis.config('RESETSTAT');
    const ends = await Promise.all(
      keys.flatMap(({ sha256 }) =>
        replicas.flatMap((replica) => Array.from({ length: workers }, () => replica.work(sha256))),
      ),
    );
    await Promise.all(replicas.map((replica) => replica.close()));
    expect(ends.some((end) => end.startsWith('The budget of the owner team of this API key'))).to.equal(true);
    const each = inFlight(workers * replicas.length);
    const spent = await Promise.all(keys.map(({ name }) => spentOf('key', name)));
    for (const one of spent) expect(one).to.be.at.most(own + each);
    expect(spent[0]! + spent[1]!).to.equal(await spentOf('owner', 'team'));
    expect(await spentOf('owner', 'team')).to.be.within(ofOwner, ofOwner + keys.length * each);
    const calls = /cmdstat_fcall:calls=(\d+)/.exec(await stack.redis.info('commandstats'))?.[1];
    expect(Number(calls), 'with leases').to.be.below((2 * ofOwner) / COST);
  });
});
