import { expect } from 'chai';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { type KeyUsage, readKeyUsageRows } from '../../../redis/usage/key-usage.ts';
import { readUsage } from '../../../redis/usage/usage.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';
import { connectTo, fillMemory } from '../../support/redis-client.ts';
import { ReplyLoss } from '../../support/reply-loss.ts';
import { TestStack } from '../../support/test-stack.ts';

const STEPS = 150;
const HOUR = 3_600_000;
const namespace = 'team';
const user = { namespace, username: 'ws:team', password: 'secret' };
const NONSENSE = [10.5, -1, Number.NaN, 1e25, Number.POSITIVE_INFINITY];
const KEYS = ['a', 'b', 'c'];

describe('usage of a deployment and a model of it', () => {
  let stack: TestStack;
  let relay: ReplyLoss;
  /** Connections of two gateways. */
  const tenants: RedisConnection[] = [];

  before(async () => {
    stack = await TestStack.start();
    relay = await ReplyLoss.start(stack.server);
    await ensureWorkspaceUser(stack.redis, user);
    for (let gateway = 0; gateway < 2; gateway++)
      tenants.push(await connectTo(relay, { ...user, role: 'sidecar' }));
  });
  after(async () => {
    for (const tenant of tenants) await tenant.close();
    await relay?.stop();
    await stack?.stop();
  });

  const read = async (deployment: string) => {
    const now = Date.now();
    const place = { namespace, deployments: [deployment] };
    const range = { ...place, from: now - 2 * HOUR, to: now + HOUR };
    const { total } = await readUsage(stack.redis, { ...range, stepSeconds: 60 });
    const keys: Record<string, KeyUsage> = {};
    for await (const rows of readKeyUsageRows(stack.redis, range))
      for (const { keyHash, requests, inputTokens, outputTokens, micros } of rows) {
        const sum = keys[keyHash] ?? { requests: 0, inputTokens: 0, outputTokens: 0, micros: 0 };
        keys[keyHash] = {
          requests: sum.requests + requests,
          inputTokens: sum.inputTokens + inputTokens,
          outputTokens: sum.outputTokens + outputTokens,
          micros: sum.micros + micros,
        };
      }
    return { requests: total.requests, inputTokens: total.inputTokens, keys };
  };

  for (const seed of listSeeds())
    it(`agree whatever is lost, late or nonsense in ${STEPS} random steps (seed ${seed})`, async () => {
      const random = seedRandom(seed);
      const draw = (most: number) => Math.floor(random() * most);
      const deployment = `chat-${seed}`;
      const meters = tenants.map(({ redis }) => new UsageMeter({ redis, log: createLog('silent') }));
      const model = { requests: 0, inputTokens: 0, keys: {} as Record<string, KeyUsage> };
      const serve = (usage: ReturnType<UsageMeter['of']>) => {
        usage.countRequest(200, draw(1_000));
        const inputTokens = draw(10_000);
        usage.add('inputTokens', inputTokens);
        model.requests++;
        model.inputTokens += inputTokens;
        const key = KEYS[draw(KEYS.length)]!;
        const used = { requests: 1, inputTokens, outputTokens: draw(100), micros: draw(1_000) };
        usage.addOfKey(key.repeat(64), used);
        const sum = model.keys[key.repeat(24)];
        if (!sum) model.keys[key.repeat(24)] = used;
        else for (const name of Object.keys(used) as (keyof KeyUsage)[]) sum[name] += used[name];
      };
      for (let step = 0; step < STEPS; step++) {
        const gateway = draw(meters.length);
        const meter = meters[gateway]!;
        const usage = meter.of(namespace, deployment);
        const chance = random();
        if (chance < 0.6) serve(usage);
        // A separate counter, so that only its own interval's sum is lost.
        else if (chance < 0.7) usage.add('characters', NONSENSE[draw(NONSENSE.length)]!);
        else if (chance < 0.85) await meter.flush();
        else if (chance < 0.95) {
          relay.loseNext(FUNCTIONS.addUsage);
          await meter.flush();
          if (random() < 0.7) await tenants[gateway]!.untilUp(60_000);
        } else {
          await fillMemory(stack.redis);
          await meter.flush();
          await stack.redis.config('SET', 'maxmemory', '0');
        }
        const counted = await read(deployment);
        expect(counted.requests, `step ${step}`).to.be.at.most(model.requests);
        expect(counted.inputTokens, `step ${step}`).to.be.at.most(model.inputTokens);
      }
      relay.loseNext(null);
      for (const tenant of tenants) await tenant.untilUp(60_000);
      for (const meter of meters) await meter.close();
      expect(await read(deployment)).to.deep.equal(model);
    });
});
