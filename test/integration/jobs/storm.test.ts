import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RequestRecord } from '../../../api/request.ts';
import { PEER_TOKEN_HEADER, RESERVATIONS_PATH } from '../../../gateway/capacity/peer-protocol.ts';
import { isRedisAway } from '../../../redis/client.ts';
import { cancelRequest } from '../../../redis/requests/request-calls.ts';
import { PEER_TOKEN } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedRandom } from '../../support/random-seeds.ts';

import { newRequestId, newToken } from '../../support/request-fixture.ts';
import { type JobStack, startJobStack } from './job-stack.ts';

/** STORM_JOBS=1000 for more. */
const JOBS = Number(process.env.STORM_JOBS ?? 150);
const PODS = 3;
const RESTARTS = 2;
/** What is killed or canceled is the same in each run; how it interleaves is not. */
const random = seedRandom(1);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a storm of jobs', function () {
  this.timeout(600_000);
  let stack: JobStack;

  before(async () => {
    stack = await startJobStack({
      kind: 'Image',
      jobSeconds: 0.1,
      pods: PODS,
      graceMs: 1_500,
      spec: { concurrency: 1 },
    });
  });
  after(() => stack?.stop());

  async function retryWhileRedisDown<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isRedisAway(error)) throw error;
        await sleep(20);
      }
    }
  }

  it('ends each in one state with one event, though replicas and Redis are killed and cancels race', async () => {
    const { connection, pods, server } = stack;
    const keys = workKeys('team');
    const promptOf = new Map<string, string>();
    const canceled = new Set<string>();
    let kills = 0;
    let isOver = false;

    async function killReplicas(): Promise<void> {
      while (!isOver) {
        await sleep(200 + random() * 800);
        if (isOver) return;
        const pod = pods[Math.floor(random() * pods.length)]!;
        await pod.crash();
        kills++;
        await pod.startAgain();
      }
    }
    async function submitAll(): Promise<void> {
      for (let index = 0; index < JOBS; index++) {
        const id = newRequestId();
        const prompt = `storm ${index} of all`;
        promptOf.set(id, prompt);
        await retryWhileRedisDown(() => stack.submit({ prompt }, {}, { id }));
        await sleep(random() * 20);
      }
    }
    /** Each tenth, about when its turn has come. */
    async function cancelTenths(): Promise<void> {
      for (let index = 0; index < JOBS; index += 10) {
        const turn = index - random() * 5 * PODS;
        await pollUntil(
          async () => promptOf.size > index && (await countEnded()) >= turn,
          `the turn of ${index}`,
          500_000,
        );
        const id = [...promptOf.keys()][index]!;
        const token = newToken();
        const call = () => cancelRequest(connection.redis, { namespace: 'team', id, token });
        // It may not have been submitted yet, while Redis is away.
        let answer = await retryWhileRedisDown(call);
        while (answer.verdict === 'unknown') answer = await retryWhileRedisDown(call);
        if (answer.verdict === 'canceled') canceled.add(id);
      }
    }
    const countEnded = () => retryWhileRedisDown(() => connection.redis.zcard(keys.ended));
    async function restartRedis(): Promise<void> {
      for (let n = 1; n <= RESTARTS; n++) {
        await pollUntil(async () => (await countEnded()) >= (JOBS * n) / (RESTARTS + 1), 'a share', 500_000);
        await server.kill();
        await server.restart();
      }
    }

    async function disturb(): Promise<void> {
      try {
        await Promise.all([submitAll(), cancelTenths(), restartRedis()]);
        await pollUntil(async () => (await countEnded()) >= JOBS * 0.9, 'most', 500_000);
      } finally {
        isOver = true;
      }
    }

    await Promise.all([disturb(), killReplicas()]);
    await pollUntil(async () => (await countEnded()) === JOBS, 'all ended', 60_000);

    const calls = new Map<string, number>();
    for (const { engine } of pods)
      for (const { prompt = '' } of (await engine.read()).recent)
        calls.set(prompt, (calls.get(prompt) ?? 0) + 1);
    const ends: Record<string, number> = {};
    for (const [id, prompt] of promptOf) {
      const record: RequestRecord = await stack.read(id);
      const end = record.errorCode ?? record.status;
      ends[end] = (ends[end] ?? 0) + 1;
      expect(end).to.be.oneOf(['succeeded', 'canceled', 'worker_lost']);
      expect(end === 'canceled', `${id} is ${end}`).to.equal(canceled.has(id));
      if (canceled.has(id)) expect(calls.get(prompt), `${id} ran although canceled`).to.equal(undefined);
      if (end === 'succeeded') expect(calls.get(prompt)).to.be.oneOf([1, 2]);
    }
    if (process.env.SHOW) console.log({ ends, kills, restarts: RESTARTS });
    expect(ends.succeeded).to.be.above(JOBS / 2);

    const outbox = await connection.redis.zrange(keys.outbox, '0', '-1');
    expect(outbox.map((event) => event.replace('evt_', 'req_')).sort()).to.deep.equal(
      [...promptOf.keys()].sort(),
    );
    expect(new Set((await stack.readEvents()).keys()).size).to.equal(JOBS);
    const registered = new Set(
      (await connection.redis.zrange(keys.cleanup, '0', '-1')).map((member) => JSON.parse(member)[1]),
    );
    for (const key of stack.storage.listObjects()) expect(registered.has(key), key).to.equal(true);

    for (const { replica, engine } of pods) {
      await pollUntil(async () => (await engine.read()).inflight === 0, 'an idle engine');
      const reserve = () =>
        fetch(`${replica.origin}${RESERVATIONS_PATH}`, {
          method: 'POST',
          headers: { [PEER_TOKEN_HEADER]: PEER_TOKEN },
        });
      await pollUntil(async () => (await reserve()).status === 201, 'its slot is free');
      expect((await reserve()).status, 'and the only one').to.equal(429);
    }
  });
});
