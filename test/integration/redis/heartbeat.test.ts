import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { heartbeat, leave } from '../../../redis/heartbeats/heartbeats.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('heartbeats', () => {
  let stack: TestStack;
  const replica = { namespace: 'one', name: 'chat' };
  const word = (pod: string) => describeReplica({ pod, inflight: 2 });
  const beat = async (pod: string) => (await update(pod)).beats!;
  const read = () => readHeartbeats(stack.redis, replica.namespace, replica.name);
  const update = async (pod: string, knownEdition = '') =>
    heartbeat(stack.redis, { ...replica, heartbeat: word(pod), knownEdition });
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
      ...['@', '@a', '@idle', '@quiet'],
      ...['a', 'idle', 'quiet'],
    ]);
  });

  it('ignores what no replica wrote, and starts over if there is too much of it', async () => {
    const key = workKeys('one').heartbeats('chat');
    await stack.redis.hset(key, { long: 'x'.repeat(2_000), '@long': String(Date.now()), '@alone': '1' });
    expect(podsOf(await beat('a'))).to.deep.equal(['a']);
    expect((await stack.redis.hkeys(key)).sort()).to.deep.equal(['@', '@a', 'a']);
    await stack.redis.hset(
      key,
      Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`f${i}`, '{}'])),
    );
    expect(podsOf(await beat('b'))).to.deep.equal(['b']);
    expect(podsOf(await beat('a'))).to.deep.equal(['a', 'b']);
    expect(await stack.redis.hlen(key)).to.equal(5);
  });

  it('put nothing into the append-only file, of busy replicas neither', async () => {
    // What waits to be written counts, too.
    const readBytes = async (): Promise<number> => {
      const info = await stack.redis.info('persistence');
      return [/aof_current_size:(\d+)/, /aof_buffer_length:(\d+)/].reduce(
        (sum, pattern) => sum + Number(pattern.exec(info)![1]),
        0,
      );
    };
    const before = await readBytes();
    for (let inflight = 0; inflight < 10; inflight++)
      await heartbeat(stack.redis, { ...replica, heartbeat: { ...word('a'), inflight } });
    expect(await readBytes()).to.equal(before);
  });

  it('are told to those alone who have not heard them in this edition', async () => {
    const first = await update('a');
    const { edition, beats } = await update('b');
    expect(podsOf(beats!)).to.deep.equal(['a', 'b']);
    expect(await update('b', edition)).to.deep.equal({ edition, beats: null });
    expect(podsOf((await update('a', first.edition)).beats!), 'b has joined').to.deep.equal(['a', 'b']);
    await leave(stack.redis, { ...replica, pod: 'a' });
    expect(podsOf((await update('b', edition)).beats!), 'a has left').to.deep.equal(['b']);
  });

  it('are told again once one of them fell silent, or Redis lost them', async () => {
    const key = workKeys('one').heartbeats('chat');
    await beat('a');
    const { edition } = await update('b');
    await stack.redis.hset(key, '@a', Date.now() - 60_000);
    expect((await update('b', edition)).beats, 'not looked for each time').to.equal(null);
    await stack.redis.hset(key, '@', `${edition} ${Date.now() - 60_000}`);
    const later = await update('b', edition);
    expect(podsOf(later.beats!)).to.deep.equal(['b']);
    await stack.redis.del(key);
    expect(podsOf((await update('b', later.edition)).beats!)).to.deep.equal(['b']);
  });

  it('are told again after Redis lost them, though as many have spoken since', async () => {
    await beat('a');
    const { edition } = await update('b');
    await stack.redis.del(workKeys('one').heartbeats('chat'));
    await beat('c');
    expect(podsOf((await update('b', edition)).beats ?? [])).to.deep.equal(['b', 'c']);
  });

  it('leave nothing in the append-only file of what a tenant wrote among them', async () => {
    const key = workKeys('one').heartbeats('chat');
    const long = 'x'.repeat(10_000);
    const { edition } = await update('a');
    await stack.redis.hset(key, '@a', long);
    expect((await update('a', edition)).beats).to.equal(null);
    await stack.redis.hset(key, { '@': long, a: 'x'.repeat(1_000), alone: long });
    await beat('a');
    await stack.redis.hset(key, 'pod', long);
    await leave(stack.redis, { ...replica, pod: 'pod' });
    expect(await stack.redis.exists(key)).to.equal(1);
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    expect(await stack.redis.hgetall(key)).to.deep.equal({});
    await stack.redis.hset(key, Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, long])));
    await beat('a');
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    expect(await stack.redis.hgetall(key)).to.deep.equal({});
  });

  it('are written where a service does not allow to leave them out of that file', async () => {
    const [library] = (await stack.redis.function('LIST', 'WITHCODE')) as unknown[][];
    const code = String(library![library!.indexOf('library_code') + 1]);
    const other = code.replaceAll('redis.set_repl', 'redis.not_here');
    await stack.redis.function('LOAD', 'REPLACE', other);
    try {
      const { edition } = await update('a');
      expect((await update('a', edition)).beats).to.equal(null);
      await leave(stack.redis, { ...replica, pod: 'a' });
      expect(await read()).to.deep.equal([]);
    } finally {
      await stack.redis.function('LOAD', 'REPLACE', code);
    }
  });

  it('answer a gateway of a version before with all of them', async () => {
    await beat('a');
    const args = ['b', JSON.stringify(word('b'))];
    const texts = await stack.redis.fcall(
      FUNCTIONS.heartbeat,
      1,
      workKeys('one').heartbeats('chat'),
      ...args,
    );
    expect(podsOf((texts as string[]).map((text) => JSON.parse(text)))).to.deep.equal(['a', 'b']);
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
