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

  it('keep the highest of a maximum', () => {
    const usage = new DeploymentUsage();
    for (const amount of [3, 7, 0, 5]) usage.raise('inflightPeak', amount);
    expect(usage.sums.get('inflightPeak')).to.equal(7);
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

describe('a meter', () => {
  it('writes the first latencies at once, later ones once a minute, to the minute in which they were seen, and the rest when it closes', async () => {
    const slots: string[] = [];
    const fcall = async (...args: unknown[]) => {
      for (const [at, arg] of args.entries())
        if (String(arg).startsWith('~')) slots.push(String(args[at - 1]));
      return 1;
    };
    let second = 0;
    const clock = { date: () => new Date(Date.UTC(2026, 0, 1, 7, 59, second)) };
    const redis = { fcall } as unknown as RedisClient;
    let delay = 0;
    const meter = new UsageMeter({ redis, log: createLog('silent'), clock, random: () => delay });
    const usage = meter.of('team', 'chat');
    const count = async () => {
      usage.countRequest(200, 75);
      await meter.flush();
      return slots.splice(0).sort();
    };
    // Whole requests and waits, by minutes of the hour and hours of the day.
    expect(await count()).to.deep.equal(['59:g', '59:w', '7:g', '7:w']);
    second = 50;
    expect(await count()).to.deep.equal([]);
    second = 61;
    // Cut, and written with the next flush at the earliest.
    expect(await count()).to.deep.equal([]);
    second = 65;
    expect(await count()).to.deep.equal(['59:g', '59:w', '7:g', '7:w']);
    delay = 0.5;
    second = 125;
    for (let flush = 0; flush < 3; flush++) expect(await count()).to.deep.equal([]);
    expect(await count()).to.deep.equal(['0:g', '0:w', '8:g', '8:w']);
    // After a pause they are told of at once again.
    second = 725;
    expect(await count()).to.deep.equal(['11:g', '11:w', '8:g', '8:w']);
    second = 730;
    expect(await count()).to.deep.equal([]);
    // Redis was away for ten minutes: as the counts, they are told of now.
    second = 1325;
    usage.countRequest(200, 75);
    await meter.close();
    expect(slots.sort()).to.deep.equal(['21:g', '21:w', '8:g', '8:w']);
  });
});
