import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type AdmissionRequest, admit } from '../../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../../redis/client.ts';

interface Call {
  /** The digits that distinguish keys. */
  keys: string[];
  answer(): void;
  fail(error: Error): void;
}

const SHA = /^[0-9a-z]$/;

/** A connection whose calls the test answers. */
function openRedis(): { redis: RedisClient; calls: Call[] } {
  const calls: Call[] = [];
  const redis = {
    sendCommand: ({ args }: { args: string[] }) =>
      new Promise((resolve, reject) => {
        const keys = args.filter((arg) => SHA.test(arg) && arg >= 'a');
        calls.push({
          keys,
          answer: () => resolve(keys.map((key) => `ok 0 1 60 59 1 1000 0 1 0 ${key} 0`)),
          fail: reject,
        });
      }),
  };
  return { redis: redis as unknown as RedisClient, calls };
}

describe('admissions of one connection', () => {
  const ask = (redis: RedisClient, sha256: string, more: Partial<AdmissionRequest> = {}) =>
    admit(redis, { namespace: 'one', sha256, counted: 'all', ...more });

  it('go at once when none is under way', () => {
    const { redis, calls } = openRedis();
    void ask(redis, 'a');
    expect(calls.map(({ keys }) => keys)).to.deep.equal([['a']]);
  });

  it('go together at the end of the turn while one is under way', async () => {
    const { redis, calls } = openRedis();
    const answers = ['a', 'b', 'c'].map((key) => ask(redis, key));
    await nextTurn();
    expect(calls.map(({ keys }) => keys)).to.deep.equal([['a'], ['b', 'c']]);
    for (const call of calls) call.answer();
    const names = (await Promise.all(answers)).map(({ keyName }) => keyName);
    expect(names).to.deep.equal(['a', 'b', 'c']);
  });

  it('wait for an answer while two are under way', async () => {
    const { redis, calls } = openRedis();
    const first = ask(redis, 'a');
    void ask(redis, 'b');
    await nextTurn();
    const marked: string[] = [];
    const later = ['c', 'd'].map((key) => ask(redis, key, { onSend: () => marked.push(key) }));
    await nextTurn();
    expect(calls).to.have.length(2);
    expect(marked).to.deep.equal([]);
    calls[0]!.answer();
    await first;
    expect(calls.map(({ keys }) => keys)).to.deep.equal([['a'], ['b'], ['c', 'd']]);
    expect(marked).to.deep.equal(['c', 'd']);
    calls[2]!.answer();
    expect((await Promise.all(later)).map(({ keyName }) => keyName)).to.deep.equal(['c', 'd']);
  });

  it('go after a failure, too, each with its own outcome', async () => {
    const { redis, calls } = openRedis();
    const first = ask(redis, 'a').catch((error: Error) => error.message);
    void ask(redis, 'b');
    await nextTurn();
    const third = ask(redis, 'c');
    calls[0]!.fail(new Error('lost'));
    expect(await first).to.equal('lost');
    calls[2]!.answer();
    expect((await third).keyName).to.equal('c');
  });

  it('do not wait for a Redis that hangs', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { redis, calls } = openRedis();
      void ask(redis, 'a');
      void ask(redis, 'b');
      await nextTurn();
      void ask(redis, 'c');
      mock.timers.tick(9);
      expect(calls).to.have.length(2);
      mock.timers.tick(1);
      expect(calls.map(({ keys }) => keys)).to.deep.equal([['a'], ['b'], ['c']]);
    } finally {
      mock.timers.reset();
    }
  });

  it('of many at once go in calls of 100', async () => {
    const { redis, calls } = openRedis();
    void ask(redis, 'a');
    for (let index = 0; index < 250; index++) void ask(redis, 'b');
    await nextTurn();
    expect(calls.map(({ keys }) => keys.length)).to.deep.equal([1, 100, 100, 50]);
  });
});
