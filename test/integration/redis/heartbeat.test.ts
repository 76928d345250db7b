import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { heartbeat, leave } from '../../../redis/admission/admission-calls.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('heartbeats', () => {
  let stack: TestStack;
  const replica = { namespace: 'one', name: 'chat' };
  const word = (pod: string) => describeReplica({ pod, inflight: 2 });
  const beat = (pod: string) => heartbeat(stack.redis, { ...replica, heartbeat: word(pod) });
  const read = () => readHeartbeats(stack.redis, replica.namespace, replica.name);
  const podsOf = (heartbeats: { pod: string }[]) => heartbeats.map(({ pod }) => pod).sort();

  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(() => stack.redis.del(workKeys('one').heartbeats('chat')));
  after(async () => {
    await stack?.stop();
  });

  it('answers every replica with the words of all, stamped by the clock of Redis', async () => {
    await beat('a');
    const [before] = await stack.redis.time();
    const all = await beat('b');
    expect(podsOf(all)).to.deep.equal(['a', 'b']);
    const { at, ...rest } = all.find(({ pod }) => pod === 'b')!;
    expect(rest).to.deep.equal(word('b'));
    const [seconds] = await stack.redis.time();
    expect(at / 1000).to.be.within(Number(before), Number(seconds) + 1);
    expect(podsOf(await read())).to.deep.equal(['a', 'b']);
  });

  it('drops replicas that were silent for 10 s, or for four of their own intervals', async () => {
    const [seconds] = await stack.redis.time();
    const put = (pod: string, every: number, ms: number) =>
      stack.redis.hset(workKeys('one').heartbeats('chat'), {
        [pod]: JSON.stringify({ ...word(pod), every }),
        [`@${pod}`]: String(Number(seconds) * 1000 - ms),
      });
    await put('dead', 1_000, 12_000);
    await put('quiet', 1_000, 7_000);
    await put('idle', 6_000, 20_000);
    await put('gone', 6_000, 26_000);
    await put('boaster', 10_000_000, 62_000);
    expect(podsOf(await read()), 'a reader passes over the dead ones').to.deep.equal(['idle', 'quiet']);
    expect(podsOf(await beat('a'))).to.deep.equal(['a', 'idle', 'quiet']);
    expect((await stack.redis.hkeys(workKeys('one').heartbeats('chat'))).sort()).to.deep.equal([
      ...['@a', '@idle', '@quiet'],
      ...['a', 'idle', 'quiet'],
    ]);
  });

  it('ignores what no replica wrote, and starts over if there is too much of it', async () => {
    const key = workKeys('one').heartbeats('chat');
    await stack.redis.hset(key, { long: 'x'.repeat(2_000), '@long': String(Date.now()), '@alone': '1' });
    expect(podsOf(await beat('a'))).to.deep.equal(['a']);
    expect((await stack.redis.hkeys(key)).sort()).to.deep.equal(['@a', 'a']);
    await stack.redis.hset(
      key,
      Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`f${i}`, '{}'])),
    );
    expect(podsOf(await beat('b'))).to.deep.equal(['b']);
    expect(podsOf(await beat('a'))).to.deep.equal(['a', 'b']);
    expect(await stack.redis.hlen(key)).to.equal(4);
  });

  it('of 3,000 idle replicas put less than 5 GB a day into the append-only file', async () => {
    const name = 'an-ordinary-deployment';
    const pods = Array.from({ length: 30 }, (_, index) => `${name}-7d9f8b6c5d-abc${index}`);
    const say = async () => {
      for (const pod of pods)
        await heartbeat(stack.redis, {
          namespace: 'an-ordinary-namespace',
          name,
          heartbeat: { ...word(pod), inflight: 0, every: 8_000 },
        });
    };
    const readBytes = async (): Promise<number> =>
      Number(/aof_current_size:(\d+)/.exec(await stack.redis.info('persistence'))![1]);
    await say();
    const before = await readBytes();
    for (let round = 0; round < 10; round++) await say();
    const bytes = ((await readBytes()) - before) / (10 * pods.length);
    expect(bytes).to.be.within(40, 160);
    expect((bytes * 3_000 * 86_400) / 8 / 1e9).to.be.below(5);
  });

  it('removes a replica that leaves, and another deployment’s stay', async () => {
    await beat('a');
    await heartbeat(stack.redis, { ...replica, name: 'other', heartbeat: word('a') });
    await leave(stack.redis, { ...replica, pod: 'a' });
    expect(await read()).to.deep.equal([]);
    expect(await readHeartbeats(stack.redis, 'one', 'other')).to.have.length(1);
  });

  it('lets the registry of a deployment that is gone expire', async () => {
    await beat('a');
    expect(await stack.redis.ttl(workKeys('one').heartbeats('chat'))).to.be.within(60, 180);
  });
});
