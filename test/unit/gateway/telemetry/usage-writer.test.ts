import { expect } from 'chai';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { UsageWriter } from '../../../../gateway/telemetry/usage-writer.ts';
import type { RedisClient } from '../../../../redis/client.ts';
import { rejection } from '../../../support/redis-client.ts';

describe('a writer of usage', () => {
  it('goes on after a batch that could not be cut', async () => {
    let calls = 0;
    const redis = { fcall: async () => ++calls } as unknown as RedisClient;
    const writer = new UsageWriter({
      redis,
      namespace: 'team',
      deployment: 'chat',
      log: createLog('silent'),
    });
    const fault = new Error('cut');
    expect(await rejection(writer.write(() => Promise.reject(fault)))).to.equal(fault);
    await writer.write(async () => [[{ key: 'k', keepSeconds: 10, counts: [['requests', 1]] }]]);
    expect(calls).to.equal(1);
  });

  it('sends counts alone where the functions of an earlier version refuse sketches', async () => {
    const taken: unknown[][] = [];
    const fcall = async (...args: unknown[]) => {
      if (args.some((arg) => String(arg).startsWith('~'))) throw new Error('A count is not a whole number');
      taken.push(args);
      return 1;
    };
    const writer = new UsageWriter({
      redis: { fcall } as unknown as RedisClient,
      namespace: 'team',
      deployment: 'chat',
      log: createLog('silent'),
    });
    const sketches = [['1:w', '900;1=1;900']] as const;
    await writer.write(async () => [[{ key: 'k', keepSeconds: 10, counts: [['1:r', 1]], sketches }]]);
    expect(taken.map((args) => args.slice(-4))).to.deep.equal([[10, 1, '1:r', 1]]);
  });
});
