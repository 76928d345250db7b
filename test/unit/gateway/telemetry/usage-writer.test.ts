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

  const sketches = [['1:w', '900;1=1;900']] as const;
  /** Redis with functions that refuse with a message what has a sketch. */
  const createRefusing = (message: string) => {
    const sent: unknown[][] = [];
    const fcall = async (...args: unknown[]) => {
      sent.push(args);
      if (args.some((arg) => String(arg).startsWith('~'))) throw new Error(message);
      return 1;
    };
    const lines: string[] = [];
    const log = createLog('warn', {}, (line) => lines.push(line));
    let now = 0;
    const redis = { fcall } as unknown as RedisClient;
    const writer = new UsageWriter({ redis, namespace: 'team', deployment: 'chat', log, now: () => now });
    const write = () =>
      writer.write(async () => [[{ key: 'k', keepSeconds: 10, counts: [['1:r', 1]], sketches }]]);
    const wait = (ms: number) => {
      now += ms;
    };
    return { sent, lines, write, wait };
  };

  it('counts latencies in earlier buckets for an hour where functions of an earlier version refuse sketches', async () => {
    const { sent, lines, write, wait } = createRefusing('ERR A count is not a whole number: 1:w');
    await write();
    await write();
    const counted = [10, 2, '1:r', 1, '1:b0', 1];
    expect(sent.map((args) => args.slice(5))).to.deep.equal([
      [10, 2, '1:r', 1, '1:w', '~900;1=1;900'],
      counted,
      counted,
    ]);
    expect(lines).to.have.length(1);
    wait(3_600_001);
    await write();
    expect(sent).to.have.length(5);
  });

  it('sends a batch that is refused for something else no second time', async () => {
    const { sent, lines, write } = createRefusing('ERR Not a sketch: 1:w');
    await write();
    expect(sent).to.have.length(1);
    expect(lines.join()).to.include('usage was not counted');
  });
});
