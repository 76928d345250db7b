import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { listUsage, readUsage, type UsageSums } from '../../../redis/usage/usage.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const PLACE = { namespace: 'team', deployment: 'chat' };

const listOf = (at: number, sums: Record<string, number>) =>
  listUsage({ ...PLACE, at, sums: new Map(Object.entries(sums)) as UsageSums });

/** What the console reads of these minutes, the first at noon. */
async function read(stepSeconds: number, ...minutes: Record<string, number>[]) {
  const hashes = minutes.flatMap((sums, minute) => listOf(NOON + minute * MINUTE, sums));
  const fcall = async (_name: string, _keys: number, wanted: string) => {
    const found = hashes.filter(({ key }) => key === wanted);
    return found.flatMap(({ counts }) => counts.flatMap(([field, amount]) => [field, `${amount}`]));
  };
  const redis = { fcall } as unknown as RedisClient;
  const range = { from: NOON, to: NOON + minutes.length * MINUTE, stepSeconds };
  return readUsage(redis, { namespace: 'team', deployments: ['chat'], ...range });
}

describe('peaks of usage', () => {
  it('are sent as maxima, in each resolution, and what a mean is made of as sums', () => {
    const sent = listOf(NOON, { inflightPeak: 7, cacheUsePeak: 90, cacheUseSum: 140, cacheUseSamples: 2 });
    expect(sent.map(({ counts }) => counts)).to.deep.equal(
      [0, 12].map((slot) => [
        [`${slot}:p`, 7, true],
        [`${slot}:y`, 90, true],
        [`${slot}:k`, 140, false],
        [`${slot}:u`, 2, false],
      ]),
    );
  });

  it('of a longer step and of the total are the highest of their minutes', async () => {
    const minutes: Record<string, number>[] = [
      { inflightPeak: 7, slotWaitingPeak: 1 },
      { inflightPeak: 3, engineWaitingPeak: 2 },
    ];
    const { steps, total } = await read(60, ...minutes);
    expect(steps.map(({ inflightPeak }) => inflightPeak)).to.deep.equal([7, 3]);
    const longer = (await read(120, ...minutes)).steps;
    for (const counts of [total, ...longer])
      expect(counts).to.include({
        inflightPeak: 7,
        runningPeak: 0,
        engineWaitingPeak: 2,
        slotWaitingPeak: 1,
        cacheUse: null,
        cacheUsePeak: null,
      });
    expect(longer).to.have.length(1);
  });

  it('come with the mean use of the KV cache, of all its samples', async () => {
    const { steps, total } = await read(
      60,
      { cacheUseSum: 90, cacheUseSamples: 1, cacheUsePeak: 90 },
      {},
      { cacheUseSum: 30, cacheUseSamples: 3, cacheUsePeak: 12 },
    );
    expect(steps.map(({ cacheUse, cacheUsePeak }) => [cacheUse, cacheUsePeak])).to.deep.equal([
      [90, 90],
      [null, null],
      [10, 12],
    ]);
    expect(total).to.include({ cacheUse: 30, cacheUsePeak: 90 });
  });
});
