import { expect } from 'chai';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { DeploymentUsage, UsageMeter } from '../../../../gateway/telemetry/usage.ts';
import type { RedisClient } from '../../../../redis/client.ts';

describe('the sums of one deployment', () => {
  const outcomes: [number, object][] = [
    [200, { requests: 1 }],
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
      expect(usage.latencies.whole.quantile(0.5)).to.equal(status === 200 ? 75 : null);
    });

  it('have the time to the first token of streams that succeeded', () => {
    const usage = new DeploymentUsage();
    usage.countRequest(200, 900, 75);
    usage.countRequest(503, 900, 75);
    expect(usage.latencies.firstToken.quantile(1)).to.equal(75);
    expect(`${usage.latencies.firstToken}`).to.match(/=1;75000$/);
  });

  it('have the wait before the engine, of those that did not wait, too', () => {
    const usage = new DeploymentUsage();
    usage.countRequest(200, 900, null, 60);
    usage.countRequest(200, 900);
    expect(usage.latencies.wait.quantile(0.5)).to.equal(0);
    expect(usage.latencies.wait.quantile(1)).to.equal(60);
  });

  it('add up', () => {
    const usage = new DeploymentUsage();
    usage.add('images', 4);
    usage.add('images');
    expect(usage.sums.get('images')).to.equal(5);
  });
});

describe('a meter', () => {
  it('writes latencies at once, then once a minute, and the rest when it closes', async () => {
    const sketches: number[] = [];
    const fcall = async (...args: unknown[]) => {
      sketches.push(args.filter((arg) => String(arg).startsWith('~')).length);
      return 1;
    };
    const meter = new UsageMeter({ redis: { fcall } as unknown as RedisClient, log: createLog('silent') });
    const usage = meter.of('team', 'chat');
    for (let flush = 0; flush < 3; flush++) {
      usage.countRequest(200, 75);
      await meter.flush();
    }
    await meter.close();
    // The kinds of whole requests and of waits, in two resolutions.
    expect(sketches).to.deep.equal([4, 0, 0, 4]);
  });
});
