import { expect } from 'chai';
import { deliveryKeys, workKeys } from '../../../api/redis-keys.ts';
import { listDeliveryTargets } from '../../../gateway/webhooks/dispatcher.ts';
import { readSpentMicros, settle } from '../../../redis/admission/admission-calls.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { readDeploymentNames, readKeyUsage } from '../../../redis/console/console-reads.ts';
import { expandEvent, takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { listDeployments } from '../../../redis/publication/published.ts';
import { takeDueObjects } from '../../../redis/requests/object-cleanup.ts';
import { claimRequest, renewClaim, submitRequest } from '../../../redis/requests/request-calls.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { addUsage, readUsage } from '../../../redis/usage/usage.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { newRequestId, newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
const MAX_MEMORY = 48 * MIB;
const SHA256 = 'a'.repeat(64);

/** What a workspace's own Redis user writes is read by programs that serve all others, too. */
describe('a malicious Redis user of a workspace', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const namespace = 'evil';
  const deployment = 'film';
  const keys = workKeys(namespace);

  beforeEach(async () => {
    stack = await TestStack.start({ args: ['--maxmemory', String(MAX_MEMORY)] });
    await publishMedia(stack.redis, { namespace, name: deployment });
    const user = { namespace, username: 'ws:evil', password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(stack.server, { ...user, role: 'sidecar' });
  });
  afterEach(async () => {
    await tenant.close();
    await stack?.stop();
  });

  const readUsedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await stack.redis.info('memory'))![1]);

  /** Writes until Redis takes no more. */
  async function fill(): Promise<void> {
    const value = 'x'.repeat(MIB / 4);
    for (let i = 0; ; i++) {
      const error = await rejection(tenant.redis.set(`${keys.prefix}fill:${i}`, value));
      if (error) return expect(String(error)).to.include('OOM') && undefined;
    }
  }

  /** Pods of which a replica learns by its own heartbeat. */
  async function readPeers(name: string): Promise<string[]> {
    const own = { namespace, name, heartbeat: describeReplica({ pod: 'own' }) };
    return (await heartbeat(tenant.redis, own)).beats!.map(({ pod }) => pod);
  }

  async function fillSet(key: string, size: number, score: number): Promise<void> {
    for (let at = 0; at < size; at += 10_000) {
      const members = Array.from({ length: 10_000 }, (_, i) => [
        score,
        `req_${String(at + i).padStart(32, '0')}`,
      ]);
      await tenant.redis.zadd(key, ...members.flat());
    }
  }

  for (const [name, command] of Object.entries(FUNCTIONS))
    it(`calls ${name} with more or longer arguments than any program sends in vain`, async () => {
      const key = `${keys.prefix}x`;
      for (const args of [
        [namespace, 'x'.repeat(900_000)],
        Array(20_000).fill(namespace),
        Array(21).fill('9'.repeat(250_000)),
      ]) {
        const error = await rejection(tenant.redis.call('FCALL', command, '1', key, ...args));
        expect(String(error)).to.include('Too many, too few or too long arguments');
      }
      const long = `${keys.prefix}${'x'.repeat(900_000)}`;
      const error = await rejection(tenant.redis.call('FCALL', command, '1', long, namespace, '1', '1'));
      expect(String(error)).to.match(/too long arguments/);
      expect(await stack.redis.keys(`${keys.prefix}x*`)).to.deep.equal([]);
    });

  it('passes the limit of memory by no function', async function () {
    this.timeout(300_000);
    const submission = submissionOf({ namespace, deployment });
    await submitRequest(tenant.redis, submission);
    await fill();
    const flood: Record<string, (n: number) => Promise<unknown>> = {
      settle: (n) =>
        settle(tenant.redis, { namespace, sha256: SHA256, tokens: 1, micros: 1, token: `t${n}` }),
      refund: (n) => tenant.redis.fcall(FUNCTIONS.refund, 1, keys.charged(`${n}`), namespace),
      registerObjects: (n) =>
        tenant.redis.fcall(
          FUNCTIONS.registerObjects,
          1,
          `${keys.prefix}f${n}`,
          '1000000',
          'x'.repeat(60_000),
        ),
      heartbeat: (n) =>
        tenant.redis.fcall(FUNCTIONS.heartbeat, 1, `${keys.prefix}h${n}`, 'pod', `{${'x'.repeat(3_000)}}`),
      admit: (n) => tenant.redis.fcall(FUNCTIONS.admit, 1, `${keys.prefix}a${n}`, namespace, SHA256, '1'),
      takeDue: (n) => tenant.redis.fcall(FUNCTIONS.takeDue, 1, `${keys.prefix}a${n}`, '10', '10'),
    };
    for (const [name, call] of Object.entries(flood)) {
      for (let round = 0; round < 10; round++)
        await Promise.all(Array.from({ length: 500 }, (_, i) => call(round * 500 + i).catch(() => {})));
      expect(await readUsedMemory(), name).to.be.below(1.05 * MAX_MEMORY + 4 * MIB);
    }
  });

  it('keeps a claim from no other worker by a set of 200,000 ids that lost theirs, and examines 20 of them', async () => {
    await fillSet(keys.again(deployment), 200_000, 1);
    const { id } = submissionOf({ namespace, deployment });
    await submitRequest(tenant.redis, submissionOf({ namespace, deployment, id }));
    const claimed = await claimRequest(tenant.redis, { namespace, deployment, token: newToken(), pod: 'p' });
    expect(claimed?.claim.id).to.equal(id);
    expect(await stack.redis.zcard(keys.again(deployment))).to.equal(200_000 - 20);
  });

  it('makes a front process published deployments only', async () => {
    await fillSet(keys.deployments, 50_000, 1);
    expect(await listDeployments(stack.redis, namespace)).to.deep.equal([deployment]);
    expect((await readDeploymentNames(stack.redis, namespace)).length).to.be.below(300);
  });

  it('has its own requests swept, whatever else it put beside them', async () => {
    const id = newRequestId();
    await submitRequest(tenant.redis, submissionOf({ namespace, deployment, id }));
    const token = newToken();
    await claimRequest(tenant.redis, { namespace, deployment, token, pod: 'p', leaseMs: 1 });
    const junk = newRequestId();
    await tenant.redis.hset(
      keys.request(junk),
      'status',
      'running',
      'deployment',
      deployment,
      'keep_ms',
      'x',
    );
    const poisoned = newRequestId();
    const copied = await stack.redis.hgetall(keys.request(id));
    await tenant.redis.hset(keys.request(poisoned), { ...copied, price: 'x', deadline: '1', order: 'x' });
    const huge = newRequestId();
    await tenant.redis.hset(keys.request(huge), { ...copied, more: 'x'.repeat(900_000) });
    for (const each of [junk, poisoned, huge, 'x'.repeat(900_000)])
      for (const key of [keys.leases, keys.ended, keys.index(deployment, 'queued'), keys.deployments])
        await tenant.redis.zadd(key, 0, each);
    for (let step = 0; step < 3; step++)
      await sweepRequests(stack.redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER });
    expect(await stack.redis.zscore(keys.again(deployment), id)).to.be.a('string');
    expect(await stack.redis.zscore(keys.leases, junk)).to.equal(null);
    expect(await stack.redis.zscore(keys.leases, huge)).to.equal(null);
  });

  it('has nothing ended again and again that it put where it does not belong', async () => {
    const id = newRequestId();
    await submitRequest(tenant.redis, submissionOf({ namespace, deployment, id }));
    const copied = await stack.redis.hgetall(keys.request(id));
    for (let i = 0; i < 30; i++) {
      const [ended, elsewhere] = [newRequestId(), newRequestId()];
      await tenant.redis.hset(keys.request(ended), { ...copied, status: 'failed', deadline: '1' });
      await tenant.redis.hset(keys.request(elsewhere), { ...copied, status: 'failed', deployment: 'other' });
      await tenant.redis.zadd(keys.leases, 0, ended);
      await tenant.redis.zadd(keys.index(deployment, 'queued'), 0, elsewhere);
    }
    const results = [];
    for (let step = 0; step < 3; step++)
      results.push(await sweepRequests(stack.redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER }));
    expect(results.at(-1)).to.deep.equal({ ended: 0, released: 0, forgotten: 0, more: false });
    expect(await stack.redis.zcard(keys.outbox)).to.equal(0);
    expect(await stack.redis.zrange(keys.index(deployment, 'queued'), '0', '-1')).to.deep.equal([id]);
  });

  it('makes no delivery of what is no event of ours', async () => {
    const event = 'evt_1';
    const data = { id: ['a', 'd:{evil}', 'https://elsewhere.example.com/', ''] };
    for (const [i, row] of [
      `\n${JSON.stringify({ id: 'evt_0', type: ['request.completed', 'x', '', 'dlv', 'dest', 'https://a.b/', ''], data })}`,
      `\n${JSON.stringify({ id: 'evt_9', type: 'request.completed', created_at: 1, data: { id: 'req_1' } })}`,
      `\n${'[{},'.repeat(20_000)}`,
      'no line break',
    ].entries()) {
      await tenant.redis.set(keys.event(`evt_${i}`), row);
      await tenant.redis.zadd(keys.outbox, 1, `evt_${i}`);
    }
    const good = `\n${JSON.stringify({ id: 'evt_a', type: 'request.failed', created_at: 1, data: { id: 'req_1', more: [] } })}`;
    await tenant.redis.set(keys.event('evt_a'), good);
    await tenant.redis.zadd(keys.outbox, 1, 'evt_a');
    const taken = await takeEvents(stack.redis, namespace, { limit: 50, leaseMs: 10_000 });
    expect(
      taken.map(({ id }) => id),
      event,
    ).to.deep.equal(['evt_a']);
    await Promise.all(
      taken.map((each) =>
        expandEvent(stack.redis, { ...each, namespace }, listDeliveryTargets(each, new Map())),
      ),
    );
    expect(await stack.redis.zcard(deliveryKeys(namespace).log)).to.equal(0);
    expect(await stack.redis.zcard(keys.outbox)).to.equal(0);
  });

  it('has its objects cleaned up, whatever else it put on the list', async () => {
    const object = { credential: null, key: 'inputs/evil/a.png' };
    for (const member of [
      'x',
      '[1,2]',
      '[null,{}]',
      '{}',
      '[null, "a"]',
      '["a"]',
      JSON.stringify([null, object.key]),
    ])
      await tenant.redis.zadd(keys.cleanup, 1, member);
    const taken = await takeDueObjects(stack.redis, namespace, { limit: 50, leaseMs: 10_000 });
    expect(taken).to.deep.equal([object]);
    expect(await stack.redis.zcard(keys.cleanup)).to.equal(1);
  });

  it('has nothing long read of its counters, heartbeats and usage', async () => {
    const huge = 'x'.repeat(900_000);
    const now = Date.now();
    await tenant.redis.set(keys.credit, huge);
    await tenant.redis.set(keys.rpm(SHA256), huge);
    await tenant.redis.hset(keys.heartbeats(deployment), 'pod', huge, 'other', huge);
    await tenant.redis.hset(
      keys.heartbeats('chat'),
      'pod',
      `{"at":${now}}`,
      'x',
      `{"v":1,"pod":{},"at":${now}}`,
      '@pod',
      now,
      '@x',
      now,
    );
    for (const period of [Math.floor(now / 3_600_000) - 1, Math.floor(now / 3_600_000)])
      await tenant.redis.hset(keys.usage(deployment, 'minute', period), '1:r', huge, '1:c', huge);
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await stack.redis.info('stats'))![1]);
    const before = await sent();
    expect(await readSpentMicros(stack.redis, namespace)).to.equal(0);
    expect((await readKeyUsage(stack.redis, { namespace, sha256: SHA256, now })).requestsThisMinute).to.equal(
      0,
    );
    for (const name of [deployment, 'chat']) expect(await readPeers(name)).to.deep.equal(['own']);
    const question = {
      namespace,
      deployments: [deployment],
      from: now - 3_600_000,
      to: now,
      stepSeconds: 60,
    };
    const { steps } = await readUsage(stack.redis, question);
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).to.equal(0);
    const sums = new Map([['queuePeak' as const, 1]]);
    await tenant.redis.hset(
      keys.usage('chat', 'hour', Math.floor(now / DAY_MS)),
      `${new Date(now).getUTCHours()}:q`,
      huge,
    );
    await addUsage(stack.redis, { namespace, deployment: 'chat', at: now, sums });
    expect((await sent()) - before).to.be.below(100_000);
  });

  it('breaks no heartbeat of its replicas by words that none of them would say', async () => {
    const word = describeReplica({ pod: 'x' });
    const words = [
      '',
      '{}',
      '[]',
      'null',
      '{"pod":',
      JSON.stringify({ ...word, pod: {} }),
      JSON.stringify({ ...word, address: 'a/../b' }),
      JSON.stringify({ ...word, port: 1e9 }),
      JSON.stringify({ ...word, limit: 'x' }),
      JSON.stringify({ ...word, ready: 1 }),
      JSON.stringify({ ...word, version: ['x'] }),
    ];
    for (const [index, text] of words.entries())
      await tenant.redis.hset(keys.heartbeats('chat'), `w${index}`, text, `@w${index}`, Date.now());
    expect(await readPeers('chat')).to.deep.equal(['own']);
  });

  it('loses the heartbeats that it bloated, and its replicas go on', async () => {
    for (let at = 0; at < 20_000; at += 1_000)
      await tenant.redis.hset(
        keys.heartbeats(deployment),
        ...Array.from({ length: 1_000 }, (_, i) => [`pod-${at + i}`, `{"x":"${'x'.repeat(100)}"}`]).flat(),
      );
    const beat = describeReplica({ pod: 'p' });
    const { beats } = await heartbeat(tenant.redis, { namespace, name: deployment, heartbeat: beat });
    expect(beats!.map(({ pod }) => pod)).to.deep.equal(['p']);
    expect(await stack.redis.hlen(keys.heartbeats(deployment))).to.equal(3);
  });

  it('has nothing long read of a hash whose long fields come late', async () => {
    const stuff = async (key: string, count: number) => {
      for (let at = 0; at < count; at += 1_000)
        await tenant.redis.hset(key, ...Array.from({ length: 1_000 }, (_, i) => [`f${at + i}`, '']).flat());
      // It is listed in the order in which its size is estimated.
      const fields = Object.keys(await tenant.redis.hgetall(key));
      for (const field of fields.slice(-20)) await tenant.redis.hset(key, field, 'x'.repeat(900_000));
    };
    const beat = describeReplica({ pod: 'p' });
    await heartbeat(tenant.redis, { namespace, name: deployment, heartbeat: beat });
    await stuff(keys.heartbeats(deployment), 9_000);
    expect(await readPeers(deployment)).to.deep.equal(['own']);
    const usage = keys.usage(deployment, 'minute', 1);
    await stuff(usage, 6_000);
    expect(await stack.redis.fcall(FUNCTIONS.usage, 1, usage)).to.have.lengthOf(0);
  });

  it('gives others no error of a key of another type', async () => {
    const id = newRequestId();
    await tenant.redis.set(keys.request(id), 'x');
    await tenant.redis.zadd(keys.leases, 1, id);
    const claim = { namespace, id, token: newToken() };
    expect(String(await rejection(renewClaim(tenant.redis, claim)))).to.include('WRONGTYPE');
    await sweepRequests(stack.redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER });
    await tenant.redis.set(keys.ended, 'x');
    const sweep = sweepRequests(stack.redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER });
    expect(String(await rejection(sweep))).to.include('WRONGTYPE');
  });
});
