import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { hashApiKey } from '../../api/identity.ts';
import { workKeys } from '../../api/redis-keys.ts';
import { connectRedis, type RedisConnection } from '../../redis/client.ts';
import { killContainer } from './containers.ts';
import { postChat } from './envelope.ts';
import {
  apply,
  cluster,
  endpoints,
  findEndpoint,
  isPodReady,
  kubectl,
  listPods,
  patchModel,
  waitUntil,
} from './installation.ts';
import { send, steer } from './media.ts';
import { type Receiver, startReceiver } from './receivers.ts';

const REDIS = 'app.kubernetes.io/name=berth,app.kubernetes.io/component=redis';
const NAMESPACE = 'default';
const BEFORE = 12;
const MEANWHILE = 20;
const image = findEndpoint('tiny-image');
const PRICE = '0.01';
const PRICE_MICROS = 10_000;

describe('a restart of the bundled Redis while it is busy', function () {
  this.timeout(600_000);
  const apiKey = `sk-berth-${randomBytes(32).toString('base64url')}`;
  const chat = { ...findEndpoint('tiny-chat'), apiKey };
  let receiver: Receiver;
  let connection: RedisConnection;
  /** Deliveries fail until then. */
  let isHealed = false;

  before(async () => {
    receiver = await startReceiver(cluster.nodeIP, {
      '/storm': (_, response) => response.writeHead(isHealed ? 204 : 503).end(),
    });
    connection = connectRedis({ url: endpoints.redisURL!, name: 'e2e', role: 'operator' });
    await connection.untilUp(20_000);
    await apply({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: 'e2e-storm', namespace: NAMESPACE },
      spec: { rpm: 600, tpd: 100_000, sha256: hashApiKey(apiKey) },
    });
    await kubectl('wait', 'apikey/e2e-storm', '--for=condition=Ready', '--timeout=60s');
    await waitUntil('the gateways to know the key', 60, async () => (await postChat(chat)).status === 200);
    await patchModel(image.name, { pricing: { perImage: PRICE } });
    const { credit } = await readCounters();
    await waitUntil('images to have their price', 120, async () => {
      await submit();
      return (await readCounters()).credit > credit;
    });
  });
  after(async () => {
    await patchModel(image.name, { pricing: null });
    await steer(image, null);
    await kubectl('delete', 'apikey', 'e2e-storm', '--ignore-not-found');
    await connection?.close();
    receiver?.stop();
  });

  const listRedis = () => listPods(REDIS, 'berth');
  /** Each with the pod that is there. */
  const ENDS: [how: string, end: () => Promise<unknown>][] = [
    ['its pod is deleted', () => kubectl('delete', 'pod', '-n', 'berth', '-l', REDIS, '--wait=false')],
    [
      'its pod is deleted by force',
      () => kubectl('delete', 'pod', '-n', 'berth', '-l', REDIS, '--grace-period=0', '--force'),
    ],
    ['its container is killed', async () => killContainer((await listRedis())[0]!, 'redis')],
  ];

  /** Its id where it is taken; undefined while Redis is away. */
  async function submit(): Promise<string | undefined> {
    const order = { model: image.modelId, prompt: 'A ship', size: '256x256' };
    const body = { ...order, webhook_url: receiver.urlOf('/storm') };
    const { status, body: answer } = await send(image, '/images/generations?async=true', { body });
    expect(status, JSON.stringify(answer)).to.be.oneOf([202, 503]);
    return status === 202 ? answer.id! : undefined;
  }
  /** Tokens of the day on which a test began, millionths spent, and the requests that were made. */
  const readCounters = async (day = today()) => {
    const keys = workKeys(NAMESPACE);
    const { redis } = connection;
    const [tokens, credit] = await redis.mget(keys.tpd(hashApiKey(apiKey), day), keys.credit);
    const requests = await redis.zcard(keys.index(image.name, 'all'));
    return { tokens: Number(tokens), credit: Number(credit), requests };
  };
  const readStatus = async (id: string): Promise<string> => {
    const { status, body } = await send(image, `/requests/${id}`);
    if (status === 503 || body.error?.code === 'not_json') return 'unknown';
    expect(status, `${id}: ${JSON.stringify(body)}`).to.equal(200);
    return body.status!;
  };
  const readRunId = async () => /run_id:(\w+)/.exec(await connection.redis.info('server'))![1];

  for (const [how, end] of ENDS)
    it(`loses nothing when ${how}`, async () => {
      isHealed = false;
      await steer(image, { jobSeconds: 1 });
      const day = today();
      const begin = await readCounters(day);
      const ids: string[] = [];
      const take = async () => {
        const id = await submit();
        if (id !== undefined) ids.push(id);
      };
      for (let count = 0; count < 5; count++) expect((await postChat(chat)).status).to.equal(200);
      while (ids.length < BEFORE) await take();
      await waitUntil('some have ended', 60, async () => (await readStatus(ids[1]!)) === 'succeeded');
      // What a request used is settled soon after its answer, and on the disk within a second.
      let counters = await readCounters(day);
      await waitUntil('the counters to stand', 30, async () => {
        const before = counters;
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        counters = await readCounters(day);
        return counters.tokens > 0 && counters.tokens === before.tokens;
      });
      expect(counters.requests - begin.requests).to.be.at.least(BEFORE);
      expect(counters.credit - begin.credit).to.equal((counters.requests - begin.requests) * PRICE_MICROS);
      const runId = await readRunId();

      await end();
      for (let count = 0; count < MEANWHILE; count++) await take();
      await waitUntil('Redis again', 180, async () => {
        const pods = await listRedis();
        const isUp = pods.length === 1 && isPodReady(pods[0]!) && connection.state === 'up';
        return isUp && (await readRunId().catch(() => runId)) !== runId;
      });
      await waitUntil('requests to be taken', 120, async () => {
        const before = ids.length;
        await take();
        return ids.length > before;
      });

      const after = await readCounters(day);
      expect(after.tokens).to.equal(counters.tokens);
      // One whose answer was lost is a request, too.
      const made = after.requests - begin.requests;
      expect(made).to.be.at.least(ids.length);
      expect(after.credit - begin.credit).to.equal(made * PRICE_MICROS);
      isHealed = true;
      await steer(image, { jobSeconds: 0.1 });
      for (const id of ids)
        await waitUntil(`${id} to succeed`, 180, async () => {
          const status = await readStatus(id);
          expect(status).to.be.oneOf(['unknown', 'queued', 'running', 'succeeded']);
          return status === 'succeeded';
        });
      const eventsOf = (id: string) => {
        const about = receiver.deliveries.filter(({ event }) => event.data.id === id);
        return new Set(about.map(({ event }) => event.id)).size;
      };
      await waitUntil('every delivery', 240, async () => {
        const log = await connection.redis.zcard(`w:{${NAMESPACE}}:outbox`).catch(() => 0);
        return log === 0 && ids.every((id) => eventsOf(id) > 0);
      });
      expect(ids.filter((id) => eventsOf(id) !== 1)).to.deep.equal([]);
    });
});

/** The UTC day, as counters have it. */
const today = () => Math.floor(Date.now() / 86_400_000);
