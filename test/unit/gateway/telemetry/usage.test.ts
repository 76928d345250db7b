import { expect } from 'chai';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { DeploymentUsage, UsageMeter } from '../../../../gateway/telemetry/usage.ts';
import type { RedisClient } from '../../../../redis/client.ts';
import { findBucket, findFirstTokenBucket } from '../../../../redis/usage/latency-buckets.ts';

describe('the sums of one deployment', () => {
  const outcomes: [number, object][] = [
    [200, { requests: 1, [findBucket(75)]: 1 }],
    [202, { requests: 1 }],
    [400, { requests: 1, clientErrors: 1 }],
    [429, { requests: 1, rateLimited: 1 }],
    [529, { requests: 1, rateLimited: 1 }],
    [499, { requests: 1, clientErrors: 1 }],
    [503, { requests: 1, serverErrors: 1 }],
  ];
  for (const [status, sums] of outcomes)
    it(`count a request that was answered with ${status} as ${Object.keys(sums).join(', ')}`, () => {
      const usage = new DeploymentUsage();
      usage.countRequest(status, 75);
      expect(Object.fromEntries(usage.sums)).to.deep.equal(sums);
    });

  it('have the time to the first token of streams that succeeded', () => {
    const usage = new DeploymentUsage();
    usage.countRequest(200, 900, 75);
    usage.countRequest(503, 900, 75);
    expect(usage.sums.get(findFirstTokenBucket(75))).to.equal(1);
  });

  it('add up', () => {
    const usage = new DeploymentUsage();
    usage.add('images', 4);
    usage.add('images');
    expect(usage.sums.get('images')).to.equal(5);
  });
});

describe('the meter of several deployments', () => {
  it('forgets one that is no longer served, once its sums are written', async () => {
    let isAway = true;
    const away = Object.assign(new Error('away'), { name: 'MaxRetriesPerRequestError' });
    const redis = { fcall: async () => (isAway ? Promise.reject(away) : 1) } as unknown as RedisClient;
    const meter = new UsageMeter({ redis, log: createLog('silent') });
    const sums = meter.of('team-a', 'sql');
    sums.countRequest(200, 75);
    meter.leave('team-a', 'sql');
    await meter.flush();
    expect(meter.of('team-a', 'sql'), 'kept until then, and used again').to.equal(sums);
    isAway = false;
    meter.leave('team-a', 'sql');
    await meter.flush();
    expect(meter.of('team-a', 'sql')).not.to.equal(sums);
    await meter.close();
  });
});
