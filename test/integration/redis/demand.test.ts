import { expect } from 'chai';
import { type FrontShare, workKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { readDemand } from '../../../redis/demand/demand.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { claimRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { connectTo } from '../../support/redis-client.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const NAMESPACE = 'one';

describe('the demand for deployments', () => {
  let stack: TestStack;
  const keys = workKeys(NAMESPACE);
  const share: Omit<FrontShare, 'at'> = {
    v: 1,
    front: 'front-a',
    boot: 'b1',
    held: 3,
    heldMs: 4_500,
    refused: 7,
    wantedAt: 1_790_000_000_000,
    every: 1_000,
  };
  const say = (name: string, fields: Parameters<typeof describeReplica>[0]) =>
    heartbeat(stack.redis, { namespace: NAMESPACE, name, heartbeat: describeReplica(fields) });
  const sayShare = (name: string, fields: Partial<FrontShare> = {}) => {
    const word = { ...share, ...fields };
    return stack.redis.fcall(FUNCTIONS.heartbeat, 1, keys.fronts(name), word.front, JSON.stringify(word));
  };
  const read = async (name: string) => (await readDemand(stack.redis, [keyOf(name)])).get(keyOf(name))!;
  const keyOf = (name: string) => `${NAMESPACE}/${name}`;
  const EMPTY = { replicas: [], fronts: [], jobs: { queued: 0, running: 0, paceMs: null } };

  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(() => stack.redis.flushdb());
  after(async () => {
    await stack?.stop();
  });

  it('is what replicas, fronts and the queue have to say, by the clock of Redis', async () => {
    await publishMedia(stack.redis, { namespace: NAMESPACE, name: 'film' });
    await say('film', { pod: 'a', inflight: 2, limit: 4, busyMs: 900, arrivals: 12, boot: 'x' });
    await sayShare('film');
    for (let i = 0; i < 3; i++)
      await submitRequest(stack.redis, submissionOf({ namespace: NAMESPACE, deployment: 'film' }));
    await claimRequest(stack.redis, {
      namespace: NAMESPACE,
      deployment: 'film',
      token: newToken(),
      pod: 'a',
    });
    await stack.redis.hset(keys.pace('film'), 'average_ms', '60000');
    const samples = await readDemand(stack.redis, ['film', 'idle'].map(keyOf));
    const { replicas, fronts, jobs, at } = samples.get(keyOf('film'))!;
    const [seconds] = await stack.redis.time();
    expect(at / 1_000).to.be.within(Number(seconds) - 5, Number(seconds) + 1);
    expect(jobs).to.deep.equal({ queued: 2, running: 1, paceMs: 60_000 });
    // What a workspace's own user may have written there.
    for (const average of ['1e999', '-5', 'nan', '0.5', '1e300']) {
      await stack.redis.hset(keys.pace('film'), 'average_ms', average);
      expect((await read('film')).jobs.paceMs, average).to.equal(null);
    }
    expect(replicas).to.have.length(1);
    expect(replicas[0]).to.include({ pod: 'a', boot: 'x', busyMs: 900, arrivals: 12, inflight: 2, limit: 4 });
    expect(replicas[0]).to.include({ ready: true, draining: false });
    expect(fronts).to.have.length(1);
    expect(fronts[0]).to.include({ front: 'front-a', boot: 'b1', held: 3, heldMs: 4_500, refused: 7 });
    expect(replicas[0]!.at).to.be.within(at - 5_000, at);
    expect(samples.get(keyOf('idle'))).to.deep.include({ ...EMPTY, at });
  });

  it('counts a job that lost its worker as one that waits', async () => {
    await stack.redis.zadd(keys.index('film', 'running'), 1, 'req_1', 2, 'req_2');
    await stack.redis.zadd(keys.again('film'), 1, 'req_1');
    expect((await read('film')).jobs).to.include({ queued: 1, running: 1 });
  });

  it('forgets replicas and fronts that are heard no more', async () => {
    const [seconds] = await stack.redis.time();
    const long = String((Number(seconds) - 70) * 1_000);
    await say('chat', { pod: 'a' });
    await sayShare('chat');
    await stack.redis.hset(keys.heartbeats('chat'), '@pod', long, 'b', '{}', '@b', long, '@a', long);
    await stack.redis.hset(keys.fronts('chat'), '@front-a', long);
    expect(await read('chat')).to.deep.include(EMPTY);
  });

  it('is read of any number of deployments, 100 in a call, whatever their workspaces', async () => {
    const names = Array.from({ length: 250 }, (_, index) => ({ namespace: `team-${index}`, name: 'chat' }));
    const keyOf = ({ namespace, name }: (typeof names)[number]) => `${namespace}/${name}`;
    for (const each of names)
      await heartbeat(stack.redis, {
        ...each,
        heartbeat: describeReplica({ pod: `pod-of-${each.namespace}` }),
      });
    const calls = async () =>
      Number(/cmdstat_fcall:calls=(\d+)/.exec(await stack.redis.info('commandstats'))![1]);
    const before = await calls();
    const samples = await readDemand(stack.redis, names.map(keyOf));
    expect((await calls()) - before).to.equal(3);
    for (const each of names)
      expect(samples.get(keyOf(each))!.replicas[0]!.pod).to.equal(`pod-of-${each.namespace}`);
  });

  it('of 1,000 replicas is complete', async () => {
    const [seconds] = await stack.redis.time();
    const fields = Array.from({ length: 1_000 }, (_, index) => {
      const pod = `an-ordinary-deployment-7d9f8b6c5d-${index}`;
      const word = JSON.stringify(describeReplica({ pod, inflight: 1, busyMs: index }));
      return [pod, word, `@${pod}`, String(Number(seconds) * 1_000)];
    });
    await stack.redis.hset(keys.heartbeats('wide'), ...fields.flat());
    expect((await read('wide')).replicas).to.have.length(1_000);
  });

  describe('with a malicious Redis user of the workspace', () => {
    let tenant: RedisConnection;
    beforeEach(async () => {
      const user = { namespace: NAMESPACE, username: 'ws:one', password: 'secret' };
      await ensureWorkspaceUser(stack.redis, user);
      tenant = await connectTo(stack.server, { ...user, role: 'sidecar' });
    });
    afterEach(() => tenant.close());

    it('is without what no replica or front would say, whose own deployment alone it spoils', async () => {
      await say('good', { pod: 'a', busyMs: 5 });
      const now = Date.now();
      const words = [
        'x',
        '{}',
        '[1]',
        JSON.stringify(describeReplica({ busyMs: -1 })),
        JSON.stringify(describeReplica({ busyMs: 1e300 })),
        JSON.stringify(describeReplica({ waiting: -1 })),
        JSON.stringify(describeReplica({ waiting: '3' as unknown as number })),
        JSON.stringify(describeReplica({ boot: 'x'.repeat(300) })),
        JSON.stringify(describeReplica({ arrivals: '9' as unknown as number })),
        JSON.stringify(describeReplica({ limit: {} as unknown as number })),
        JSON.stringify({ ...describeReplica(), v: 2 }),
        JSON.stringify({ ...share, held: null }),
        'x'.repeat(800_000),
      ];
      for (const [index, word] of words.entries())
        for (const key of [keys.heartbeats('spoilt'), keys.fronts('spoilt')])
          await tenant.redis.hset(key, { [`p${index}`]: word, [`@p${index}`]: String(now) });
      for (const key of [keys.heartbeats('typed'), keys.fronts('typed'), keys.again('typed')])
        await tenant.redis.set(key, 'no hash');
      await tenant.redis.hset(keys.pace('typed'), 'average_ms', 'x'.repeat(900_000));
      const samples = await readDemand(stack.redis, ['spoilt', 'typed', 'good'].map(keyOf));
      expect(samples.get(keyOf('spoilt'))).to.deep.include(EMPTY);
      expect(samples.get(keyOf('typed'))).to.deep.include(EMPTY);
      expect(samples.get(keyOf('good'))!.replicas[0]).to.include({ pod: 'a', busyMs: 5 });
    });

    it('has no more waiting within its engine than are in flight', async () => {
      await tenant.redis.hset(keys.heartbeats('chat'), {
        a: JSON.stringify(describeReplica({ pod: 'a', inflight: 3, waiting: 9e15 })),
        '@a': String(Date.now()),
      });
      expect((await read('chat')).replicas[0]!.waiting).to.equal(3);
    });

    it('has no activity in the future', async () => {
      await tenant.redis.hset(keys.heartbeats('chat'), {
        a: JSON.stringify(describeReplica({ pod: 'a', activeAt: 9e15 })),
        '@a': String(Date.now()),
      });
      const { replicas, at } = await read('chat');
      expect(replicas[0]!.activeAt).to.equal(at);
    });

    it('is heard of nobody from the future, who would never be forgotten', async () => {
      const [seconds] = await stack.redis.time();
      for (const [pod, ahead] of [
        ['a', 5],
        ['b', 60],
      ] as const)
        await tenant.redis.hset(keys.heartbeats('chat'), {
          [pod]: JSON.stringify(describeReplica({ pod })),
          [`@${pod}`]: String((Number(seconds) + ahead) * 1_000),
        });
      expect((await read('chat')).replicas.map(({ pod }) => pod)).to.deep.equal(['a']);
    });

    it('is nothing of a deployment that more speak for than it can have replicas and fronts', async () => {
      const now = String(Date.now());
      const speak = (key: string, count: number, word: object) =>
        tenant.redis.hset(
          key,
          ...Array.from({ length: count }, (_, index) => [
            `p${index}`,
            JSON.stringify(word),
            `@p${index}`,
            now,
          ]).flat(),
        );
      await speak(keys.heartbeats('few'), 30, describeReplica());
      await speak(keys.heartbeats('many'), 31, describeReplica());
      await speak(keys.fronts('few'), 64, share);
      await speak(keys.fronts('many'), 65, share);
      const samples = await readDemand(stack.redis, ['few', 'many'].map(keyOf), () => 5);
      const [few, many] = ['few', 'many'].map((name) => samples.get(keyOf(name))!);
      expect(few!.replicas).to.have.length(30);
      expect(few!.fronts).to.have.length(64);
      expect(many).to.deep.include(EMPTY);
    });

    it('is read in bounded steps, whatever was written', async () => {
      const names = Array.from({ length: 60 }, (_, index) => `chat-${index}`);
      const all = names.map(keyOf);
      const fields = Array.from({ length: 2_000 }, (_, index) => [`f${index}`, 'x'.repeat(100)]).flat();
      for (const name of names)
        for (const key of [keys.heartbeats(name), keys.fronts(name)]) await tenant.redis.hset(key, ...fields);
      const key = keys.heartbeats('chat-0');
      const answered = (await stack.redis.fcall(FUNCTIONS.demand, 1, key, ...all)) as unknown[];
      expect(answered.length - 1).to.be.within(5, 30);
      expect([...(await readDemand(stack.redis, all)).keys()]).to.deep.equal(all);
      const more = Array.from({ length: 60_000 }, (_, index) => [`g${index}`, '']).flat();
      for (let at = 0; at < more.length; at += 10_000)
        await tenant.redis.hset(keys.heartbeats('chat-0'), ...more.slice(at, at + 10_000));
      expect((await read('chat-0')).replicas).to.deep.equal([]);
    });
  });
});
