/**
 * Measures one front that delivers webhooks: from the end of a request to its receiver, deliveries a second, and how
 * endpoints fare beside others that hang. Part of `make bench` (ONLY=webhooks).
 */

import { workspaceDataKey } from '../../api/identity.ts';
import { FRONT_SECRET_FILES } from '../../api/names.ts';
import { channels, configKeys, workKeys } from '../../api/redis-keys.ts';
import { sealSigningSecret } from '../../api/signing-secret.ts';
import type { RedisClient } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { cancelRequest, submitRequest } from '../../redis/requests/request-calls.ts';
import { pollUntil } from '../support/poll.ts';

import { newToken, publishMedia, submissionOf } from '../support/request-fixture.ts';
import { LOAD_CORE, readCPU, SYSTEM_CORE, startPinned, stopPinned, waitForPort } from './pinned-process.ts';
import { atLeast, atMost, formatRows, type Goal } from './report.ts';
import { median, percentile } from './statistics.ts';
import { buildFront, PORTS, writeSecret } from './systems.ts';

export interface WebhookFigures {
  /** From the call that ends a request to the first byte at the receiver. */
  delayP50Ms: number;
  delayP99Ms: number;
  perSecond: number;
  cpuMicros: number;
  /** Rate of the same endpoints while others hang. */
  perSecondBesideHanging: number;
  /** Median of the rounds' ratios, each to the burst just before. */
  shareBesideHanging: number;
}

interface Burst {
  perSecond: number;
  cpuMicros: number;
}

const ROUNDS = 3;
const ENDED_REQUESTS = 100;
const EVENTS = 40;
/** With those that hang, as many as a workspace may have: all their deliveries fit into its share at once. */
const ENDPOINTS = 45;
const HANGING = 5;
const DELIVERY_TIMEOUT_MS = 60_000;
const RECEIVER_URL = `http://127.0.0.1:${PORTS.receiver}`;
const MASTER_KEY = 'bench';
const namespace = 'bench';
const readNow = () => performance.timeOrigin + performance.now();

export async function measureWebhooks(redis: RedisClient): Promise<WebhookFigures> {
  await loadLibrary(redis);
  const delays = await withFront(redis, 1, 0, () => measureDelays(redis));
  const alone: Burst[] = [];
  const beside: Burst[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await withFront(redis, ENDPOINTS, 0, (pid) => measureBurst(redis, pid)));
    beside.push(await withFront(redis, ENDPOINTS, HANGING, (pid) => measureBurst(redis, pid)));
  }
  return {
    delayP50Ms: percentile(delays, 0.5),
    delayP99Ms: percentile(delays, 0.99),
    perSecond: median(alone.map(({ perSecond }) => perSecond)),
    cpuMicros: median(alone.map(({ cpuMicros }) => cpuMicros)),
    perSecondBesideHanging: median(beside.map(({ perSecond }) => perSecond)),
    shareBesideHanging: median(beside.map(({ perSecond }, i) => perSecond / alone[i]!.perSecond)),
  };
}

/** With a receiver and an otherwise empty Redis, since hanging deliveries last for minutes. */
async function withFront<T>(
  redis: RedisClient,
  endpoints: number,
  hanging: number,
  measure: (pid: number) => Promise<T>,
): Promise<T> {
  await redis.flushdb();
  await publishMedia(redis, { namespace, name: 'film' });
  const signingSecret = sealSigningSecret('bench', namespace, workspaceDataKey(MASTER_KEY, namespace));
  await redis.hset(configKeys(namespace).workspace, { signingSecret });
  const paths = Array.from({ length: endpoints + hanging }, (_, i) =>
    i < endpoints ? `good-${i}` : `hang-${i}`,
  );
  await redis.hset(
    configKeys(namespace).endpoints,
    Object.fromEntries(paths.map((path) => [path, describeEndpoint(path)])),
  );
  const receiver = startPinned(
    LOAD_CORE,
    {
      program: process.execPath,
      args: ['test/bench/webhook-receiver.ts'],
      env: { PORT: String(PORTS.receiver) },
    },
    '/dev/null',
  );
  await waitForPort(PORTS.receiver);
  const secret = writeSecret({ [FRONT_SECRET_FILES.masterKey]: MASTER_KEY });
  const front = startPinned(SYSTEM_CORE, buildFront(secret), '/dev/null');
  try {
    await waitForPort(PORTS.front);
    await pollUntil(async () => Number(await redis.pubsub('NUMPAT')) > 0, 'the subscription to events');
    return await measure(front.pid!);
  } finally {
    await stopPinned(front);
    await stopPinned(receiver);
  }
}

const describeEndpoint = (path: string): string =>
  JSON.stringify({
    v: 1,
    url: `${RECEIVER_URL}/${path}`,
    eventTypes: ['request.completed', 'request.canceled'],
    enabled: true,
  });

const readCounts = async () =>
  (await fetch(`${RECEIVER_URL}/counts`)).json() as Promise<{ received: number; lastMs: number }>;

async function measureDelays(redis: RedisClient): Promise<number[]> {
  const delays: number[] = [];
  for (let i = 1; i <= ENDED_REQUESTS; i++) {
    const submission = submissionOf({ namespace, deployment: 'film' });
    await submitRequest(redis, submission);
    const endedMs = readNow();
    await cancelRequest(redis, { namespace, id: submission.id, token: newToken() });
    await untilReceived(i);
    delays.push((await readCounts()).lastMs - endedMs);
  }
  return delays.slice(ENDED_REQUESTS / 10);
}

/** All events at once, each for all endpoints. */
async function measureBurst(redis: RedisClient, pid: number): Promise<Burst> {
  const keys = workKeys(namespace);
  await Promise.all(
    Array.from({ length: EVENTS }, async (_, i) => {
      const data = { id: `req_${i}`, status: 'succeeded', result_payload: { note: 'x'.repeat(800) } };
      const body = { id: `evt_${i}`, type: 'request.completed', created_at: 1, data };
      await redis.set(keys.event(body.id), `\n${JSON.stringify(body)}`);
      await redis.zadd(keys.outbox, 0, body.id);
    }),
  );
  const [begunMs, cpu] = [readNow(), readCPU(pid)];
  await redis.publish(channels.events(namespace), '');
  const deliveries = EVENTS * ENDPOINTS;
  await untilReceived(deliveries);
  const { lastMs } = await readCounts();
  return {
    perSecond: deliveries / ((lastMs - begunMs) / 1_000),
    cpuMicros: ((readCPU(pid) - cpu) * 1e6) / deliveries,
  };
}

const untilReceived = (count: number) =>
  pollUntil(async () => (await readCounts()).received >= count, `${count} deliveries`, DELIVERY_TIMEOUT_MS);

export const formatWebhooks = (figures: WebhookFigures): string =>
  formatRows([
    ['webhooks of one front', ''],
    ['end of a request → receiver p50, ms', figures.delayP50Ms.toFixed(1)],
    ['end of a request → receiver p99, ms', figures.delayP99Ms.toFixed(1)],
    [`deliveries/s, ${ENDPOINTS} endpoints`, figures.perSecond.toFixed(0)],
    [`deliveries/s, the same beside ${HANGING} that hang`, figures.perSecondBesideHanging.toFixed(0)],
    ['CPU µs/delivery', figures.cpuMicros.toFixed(0)],
  ]);

/** A tenth of the work is for endpoints that hang; they must not cost much more. */
export const listWebhookGoals = (figures: WebhookFigures): Goal[] => [
  atMost('end of a request → receiver p50, ms', figures.delayP50Ms, 50),
  atLeast('deliveries/s', figures.perSecond, 5_000),
  atLeast('deliveries/s beside hanging ones ÷ alone', figures.shareBesideHanging, 0.95),
];
