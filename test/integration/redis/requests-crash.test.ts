import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { isRedisAway, type RedisConnection } from '../../../redis/client.ts';
import { takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { inspectRedis } from '../../../redis/inspection.ts';
import { loadLibrary } from '../../../redis/library.ts';
import {
  cancelRequest,
  claimRequest,
  finishRequest,
  renewClaim,
  submitRequest,
} from '../../../redis/requests/request-calls.ts';
import { listRequests } from '../../../redis/requests/request-record.ts';
import { createExpiryGate, sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedRandom } from '../../support/random-seeds.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { failure, newToken, publishMedia, submissionOf, success } from '../../support/request-fixture.ts';

const REQUESTS = 200;
const LEASE_MS = 400;
const namespace = 'one';
const deployment = 'film';
/** Which workers vanish or stall is the same in each run; how they interleave is not. */
const random = seedRandom(1);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('requests while workers and Redis crash', function () {
  this.timeout(120_000);
  let server: RedisServer;
  const connections: RedisConnection[] = [];
  let over = false;

  const connect = async () => {
    const connection = await connectTo(server, { commandTimeoutMs: 300 });
    connections.push(connection);
    return connection.redis;
  };
  /** As gateways do: the same call, with the same token, until it is answered. */
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

  before(async () => {
    server = await startRedis({ isStrict: true });
    const redis = await connect();
    await loadLibrary(redis);
    await publishMedia(redis, { namespace, name: deployment });
  });
  after(async () => {
    over = true;
    for (const connection of connections) await connection.close();
    await server?.stop();
  });

  it('end in exactly one state with one event each, and none runs after its cancel', async () => {
    const begun = new Map<string, number>();
    const finished = new Map<string, number>();
    const canceled = new Set<string>();

    /** A slot; a worker that vanishes sends nothing more, and one that stalls returns too late. */
    async function work(): Promise<void> {
      const redis = await connect();
      while (!over) {
        const token = newToken();
        const request = { namespace, deployment, token, leaseMs: LEASE_MS, pod: 'pod' };
        const job = await retryWhileRedisDown(() => claimRequest(redis, request));
        if (!job) {
          await sleep(10);
          continue;
        }
        const { id } = job.claim;
        expect(canceled.has(id), `${id} runs after its cancel`).to.equal(false);
        begun.set(id, (begun.get(id) ?? 0) + 1);
        await sleep(random() * 30);
        const fate = random();
        if (fate < 0.08) continue;
        if (fate < 0.12) await sleep(LEASE_MS * 2);
        else
          await retryWhileRedisDown(() => renewClaim(redis, job.claim, { leaseMs: LEASE_MS, progress: 50 }));
        const outcome = fate < 0.3 ? failure() : success();
        const answer = await retryWhileRedisDown(() => finishRequest(redis, job.claim, outcome));
        if (answer !== 'stale') finished.set(id, (finished.get(id) ?? 0) + 1);
      }
    }

    async function sweep(): Promise<void> {
      const redis = await connect();
      const gate = createExpiryGate({ graceMs: 300 });
      while (!over) {
        await retryWhileRedisDown(async () => {
          const { runId } = await inspectRedis(redis);
          await sweepRequests(redis, namespace, {
            expireUntil: gate.observe(runId) ? Number.MAX_SAFE_INTEGER : 0,
          });
        });
        await sleep(30);
      }
    }

    const parties = [...Array.from({ length: 6 }, work), sweep(), sweep()];
    const failures: unknown[] = [];
    for (const party of parties) party.catch((error) => failures.push(error));

    const redis = await connect();
    const submitted: string[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      const submission = submissionOf({ namespace, deployment, priceMicros: 1 });
      const answer = await retryWhileRedisDown(() => submitRequest(redis, submission));
      expect(answer).to.include({ verdict: 'accepted', id: submission.id });
      submitted.push(submission.id);
      if (i % 10 === 0) {
        const token = newToken();
        const race = cancelRequest.bind(null, redis, { namespace, id: submission.id, token });
        if ((await retryWhileRedisDown(race)).verdict === 'canceled') canceled.add(submission.id);
      }
      if (i === REQUESTS / 4 || i === REQUESTS / 2) {
        await server.kill();
        await server.restart();
      }
    }

    const list = (status?: 'queued' | 'running') =>
      retryWhileRedisDown(() => listRequests(redis, { namespace, deployment, status, limit: REQUESTS }));
    const settled = async () => {
      if (failures.length > 0) throw failures[0];
      return (await list('queued')).length + (await list('running')).length === 0;
    };
    await pollUntil(settled, 'every request has ended', 60_000);
    over = true;
    await Promise.all(parties);

    const records = await list();
    expect(records.map(({ id }) => id)).to.deep.equal([...submitted].reverse());
    const events = await takeEvents(redis, namespace, { limit: REQUESTS * 2, leaseMs: 60_000 });
    expect(events.map(({ requestId }) => requestId).sort()).to.deep.equal([...submitted].sort());
    for (const { id, status, errorCode } of records) {
      if (status === 'canceled') expect(begun.has(id), `${id} ran and is canceled`).to.equal(false);
      if (status === 'succeeded' || errorCode === 'upstream_error') expect(finished.get(id)).to.equal(1);
      else expect(finished.has(id), `${id} is ${status} ${errorCode}`).to.equal(false);
      expect(begun.get(id) ?? 0).to.be.at.most(2);
      expect(canceled.has(id)).to.equal(status === 'canceled');
    }
    const paid = records.filter(({ status }) => status === 'succeeded').length;
    expect(await redis.get(workKeys(namespace).credit)).to.equal(String(paid));
    expect(paid).to.be.above(REQUESTS / 3);
    expect(canceled.size).to.be.above(0);
  });
});
