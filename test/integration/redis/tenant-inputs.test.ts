import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { encodeObject } from '../../../redis/requests/object-cleanup.ts';
import {
  cancelRequest,
  claimRequest,
  finishRequest,
  submitRequest,
} from '../../../redis/requests/request-calls.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import {
  newRequestId,
  newToken,
  publishMedia,
  submissionOf,
  success,
} from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
const MAX_MEMORY = 48 * MIB;
/** What a job may have stored: a form's files and its parameters. */
const MAX_INPUTS = 41;

/** Functions take the stored inputs of a request from its record, where the workspace's own user may write any list. */
describe('the inputs of requests that a workspace’s Redis user wrote', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const namespace = 'evil';
  const deployment = 'film';
  const keys = workKeys(namespace);
  const token = newToken();

  beforeEach(async () => {
    stack = await TestStack.start({ args: ['--maxmemory', String(MAX_MEMORY)] });
    await publishMedia(stack.redis, { namespace, name: deployment });
    const user = { namespace, username: 'ws:evil', password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(stack.server, { ...user, role: 'sidecar', commandTimeoutMs: 60_000 });
  });
  afterEach(async () => {
    await tenant.close();
    await stack?.stop();
  });

  const readUsedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await stack.redis.info('memory'))![1]);
  const countCleanup = () => stack.redis.zcard(keys.cleanup);

  /** A record as functions write it, with more in it. */
  async function plant(fields: Record<string, string>): Promise<string> {
    const id = newRequestId();
    const now = Date.now();
    const record = {
      deployment,
      modality: 'video',
      api_key: 'a'.repeat(24),
      order: `${now}000`,
      queued_at: `${now}`,
      registration_id: '1',
      price: '0',
      keep_ms: '60000',
      claim: token,
      deadline: `${now + 3_600_000}`,
      attempts: '2',
      claimed_at: `${now}`,
    };
    await tenant.redis.hset(keys.request(id), { ...record, ...fields });
    return id;
  }
  const plantRunning = async (inputs: string) => {
    const id = await plant({ status: 'running', inputs });
    await tenant.redis.zadd(keys.leases, 1, id);
    return id;
  };
  const plantQueued = async (inputs: string) => {
    const id = await plant({ status: 'queued', inputs });
    await tenant.redis.zadd(keys.index(deployment, 'queued'), 1, id);
    return id;
  };
  const finish = (id: string) => finishRequest(tenant.redis, { namespace, id, token }, success());
  const cancel = (id: string) => cancelRequest(tenant.redis, { namespace, id, token });
  const sweep = () => sweepRequests(stack.redis, namespace, { expireUntil: Number.MAX_SAFE_INTEGER });

  const listOf = (bytes: number, member: (i: number) => unknown) => {
    const members: string[] = [];
    for (let i = 0, length = 2; length < bytes; i++)
      length += members[members.push(JSON.stringify(member(i))) - 1]!.length + 1;
    return `[${members.slice(0, -1)}]`;
  };
  for (const [what, inputs] of [
    ['many numbers', listOf(MIB, (i) => i)],
    ['many numbers in a record of usual length', listOf(50_000, (i) => i)],
    ['many texts', listOf(30_000, (i) => `${i}`)],
    ['long texts', listOf(50_000, (i) => `${i}${'x'.repeat(20_000)}`)],
    ['no list', '{"a":1}'],
    ['no JSON', '['.repeat(30_000)],
    ['nothing of a text', '[null,1,{},[],"x"]'],
  ] as const)
    it(`have nothing long done with them by those who end requests: ${what}`, async () => {
      await rejection(finish(await plantRunning(inputs)));
      await rejection(cancel(await plantQueued(inputs)));
      await Promise.all([plantRunning(inputs), plantQueued(inputs)]);
      await sweep();
      expect(await countCleanup()).to.be.at.most(1);
      expect(await stack.redis.zcount(keys.leases, '-inf', Date.now()), 'left to sweep').to.equal(0);
    });

  it('never take more memory than is kept for ends', async function () {
    this.timeout(300_000);
    let count = 0;
    const listNew = () => listOf(50_000, () => `${count++}`);
    const [running, queued] = [[] as string[], [] as string[]];
    for (let i = 0; i < 60; i++) {
      running.push(await plant({ status: 'running', inputs: listNew() }));
      queued.push(await plantQueued(listNew()));
      await plantRunning(listNew());
    }
    for (let i = 0; ; i++)
      if (await rejection(tenant.redis.set(`${keys.prefix}fill:${i}`, 'x'.repeat(MIB / 4)))) break;
    const steps: Record<string, () => Promise<unknown>> = {
      finish: () => Promise.all(running.map((id) => rejection(finish(id)))),
      cancel: () => Promise.all(queued.slice(0, 30).map((id) => rejection(cancel(id)))),
      sweep: () => rejection(sweep()),
    };
    for (const [name, step] of Object.entries(steps)) {
      await step();
      expect(await readUsedMemory(), name).to.be.below(1.05 * MAX_MEMORY + 2 * MIB);
    }
  });

  it('never take more memory than is kept for ends, either, where each event is as long as can be', async function () {
    this.timeout(300_000);
    let count = 0;
    const listNew = () => listOf(32_000, () => `${count++}${'x'.repeat(600)}`);
    const webhook_url = `https://a.example/${'x'.repeat(8_000)}`;
    for (let i = 0; i < 150; i++)
      await tenant.redis.zadd(
        keys.leases,
        1,
        await plant({ status: 'running', webhook_url, inputs: listNew() }),
      );
    for (let i = 0; ; i++)
      if (await rejection(tenant.redis.set(`${keys.prefix}fill:${i}`, 'x'.repeat(MIB / 4)))) break;
    for (let step = 0; step < 3; step++) await sweep();
    expect(await readUsedMemory()).to.be.below(1.05 * MAX_MEMORY + 2 * MIB);
    await tenant.redis.unlink(Array.from({ length: 100 }, (_, i) => `${keys.prefix}fill:${i}`));
    for (let step = 0; step < 2; step++) await sweep();
    expect(await stack.redis.zcount(keys.leases, '-inf', Date.now()), 'left to sweep').to.equal(0);
  });

  it('are removed with a request that has as many as can be, with long names', async () => {
    const object = (i: number) => ({
      credential: null,
      key: `${'p'.repeat(500)}/inputs/evil/req_1/${i}.png`,
    });
    const inputs = Array.from({ length: MAX_INPUTS }, (_, i) => object(i));
    const id = newRequestId();
    await tenant.redis.zadd(
      keys.cleanup,
      ...inputs.flatMap((each) => [Date.now() + 60_000, encodeObject(each)]),
    );
    await submitRequest(tenant.redis, submissionOf({ namespace, deployment, id, inputs }));
    expect(await countCleanup(), 'the record owns them').to.equal(0);
    const claimed = await claimRequest(tenant.redis, { namespace, deployment, token, pod: 'p' });
    await finishRequest(tenant.redis, claimed!.claim, success());
    expect(await countCleanup()).to.equal(MAX_INPUTS);
  });

  it('are refused with a submission whose list is none of ours', async () => {
    for (const inputs of [listOf(30_000, (i) => i), '{"a":1}', '[1', '[1]']) {
      const id = newRequestId();
      const args = [
        namespace,
        id,
        deployment,
        'video',
        'a'.repeat(24),
        '',
        '0',
        '1',
        '1',
        '{}',
        inputs,
        '',
        '',
      ];
      const refused = await rejection(tenant.redis.fcall(FUNCTIONS.submit, 1, keys.request(id), ...args));
      expect(String(refused)).to.include('ERR');
      expect(await stack.redis.exists(keys.request(id))).to.equal(0);
    }
  });
});
