import { expect } from 'chai';
import { describeTraffic } from '../../../console/web/deployment/traffic-figures.ts';
import { DeploymentUsage } from '../../../gateway/telemetry/usage.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { addUsage, readUsage } from '../../../redis/usage/usage.ts';
import { seedRandom } from '../../support/random-seeds.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const UNITS: Record<string, number> = { ms: 1, s: 1_000, min: MINUTE };

/** Keeps what is added, each field as often as it comes: the console adds them up. */
function createRedis(): RedisClient {
  const hashes = new Map<string, string[]>();
  const fcall = async (name: string, keyCount: number, ...args: (string | number)[]) => {
    const keys = args.slice(0, keyCount).map(String);
    if (name === FUNCTIONS.usage) return hashes.get(keys[0]!) ?? [];
    let at = keyCount + 1;
    for (const key of keys.slice(1)) {
      const end = at + 2 + 2 * Number(args[at + 1]);
      const fields = args.slice(at + 2, end).map((each) => String(each).replace(/^[~>]/, ''));
      hashes.set(key, [...(hashes.get(key) ?? []), ...fields]);
      at = end;
    }
    return 1;
  };
  return { fcall } as unknown as RedisClient;
}

/** Requests of a gateway that writes them minute by minute, and the figures of the deployment's page. */
async function show(latencies: readonly number[]): Promise<number[]> {
  const redis = createRedis();
  const place = { namespace: 'team', deployment: 'chat' };
  const usage = new DeploymentUsage();
  for (let minute = 0; minute < 20; minute++) {
    for (const ms of latencies.filter((_, index) => index % 20 === minute)) usage.countRequest(200, ms);
    await addUsage(redis, { ...place, at: NOON + minute * MINUTE, ...usage });
    usage.sums.clear();
    usage.latencies.whole.clear();
    usage.latencies.wait.clear();
  }
  const range = { from: NOON, to: NOON + 60 * MINUTE, stepSeconds: 180 };
  const { total } = await readUsage(redis, { namespace: 'team', deployments: ['chat'], ...range });
  expect(total.requests).to.equal(latencies.length);
  const figures = describeTraffic({ total, points: [], stepSeconds: 180 }, { kind: 'LLM', queue: null });
  const { value, more } = figures.find(({ label }) => label === 'Latency, p95')!;
  const shown = `${more}, p95 ${value}`.matchAll(/(p\d+) ([\d.]+) (\w+)/g);
  const byName = new Map([...shown].map(([, name, figure, unit]) => [name, Number(figure) * UNITS[unit!]!]));
  return ['p50', 'p95', 'p99'].map((name) => byName.get(name)!);
}

describe('latencies that the console shows', () => {
  const random = seedRandom(11);
  const spreads: [string, () => number][] = [
    ['of quick answers', () => 2 + random() * 8],
    ['of chats, of which one in ten waits', () => 400 + random() * 900 + (random() < 0.1 ? 20_000 : 0)],
    ['from 1 ms to 10 min', () => 600_000 ** random()],
  ];
  for (const [name, draw] of spreads)
    it(`are within 5 % of the exact ones of 1,000 requests: ${name}`, async () => {
      const latencies = Array.from({ length: 1_000 }, draw);
      const sorted = latencies.toSorted((a, b) => a - b);
      const exact = [sorted[499]!, sorted[949]!, sorted[989]!];
      for (const [index, figure] of (await show(latencies)).entries())
        expect(figure / exact[index]!, `of ${exact[index]} ms`).to.be.within(0.95, 1.05);
    });

  it('are the exact ones of a few requests', async () => {
    expect(await show([3_700, 18_000, 9_100, 5_200, 7_300, 12_400])).to.deep.equal([7_300, 18_000, 18_000]);
  });
});
