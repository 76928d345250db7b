/**
 * Measures the queue on one Redis, with few and with many records in it, beside the admission of a text request.
 * Part of `make bench`; `node test/bench/queue.ts` shows it alone.
 */

import { randomBytes } from 'node:crypto';
import { admit } from '../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { claimRequest, finishRequest, submitRequest } from '../../redis/requests/request-calls.ts';
import { listRequests, readRequest } from '../../redis/requests/request-record.ts';
import { publishApiKey } from '../support/publication.ts';
import { connectTo } from '../support/redis-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { publishMedia, submissionOf, success } from '../support/request-fixture.ts';
import { formatKeys, formatQueue, listKeyGoals, listQueueGoals } from './queue-report.ts';
import { formatGoals } from './report.ts';
import { median } from './statistics.ts';

export interface Cost {
  perSecond: number;
  /** Time of Redis' main thread per operation: one Redis can do a million divided by this per second. */
  redisMicros: number;
}

export interface QueueFigures {
  records: number;
  admit: Cost;
  submit: Cost;
  claimAndFinish: Cost;
  list200: Cost;
  /** One at a time, p50 in milliseconds. */
  admitMs: number;
  listMs: number;
  detailMs: number;
}

export interface KeyFigures {
  /** Keys of the workspace, all of which ask. */
  keys: number;
  admit: Cost;
}

export const KEYS = [10, 100_000];
export const RECORDS = [10, 1_000, 100_000];
/** Stays below 2^19 keys with the most records: there Redis enlarges its table, which takes time. */
export const OPERATIONS = Number(process.env.OPERATIONS ?? 10_000);

const namespace = 'bench';
const deployment = 'film';
const CONCURRENCY = 100;
const SLICES = 5;
const CALLS = 500;
/** The endpoint's default. */
const LISTED = 20;
const API_KEYS = Array.from({ length: 10 }, (_, i) => String(i).repeat(64));
const API_KEY = { n: 'bench', rpm: 1_000_000_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
const PARAMS = JSON.stringify({ prompt: 'x'.repeat(800) });

/** Measures with each of `sizes` records present; every figure is of `operations` operations. */
export async function measureQueue(sizes: readonly number[], operations: number): Promise<QueueFigures[]> {
  return withOwnRedis(async (redis) => {
    await publishMedia(redis, { namespace, name: deployment, limits: { maxQueued: 1_000_000 } });
    for (const sha256 of API_KEYS) await publishApiKey(redis, namespace, sha256, API_KEY);
    const figures: QueueFigures[] = [];
    let present = 0;
    for (const records of sizes) {
      await repeat(records - present, () => submit(redis));
      await repeat(records - present, () => work(redis));
      figures.push({
        records,
        admit: await measure(redis, operations, (i) => admitKey(redis, API_KEYS[i % API_KEYS.length]!)),
        submit: await measure(redis, operations, () => submit(redis)),
        claimAndFinish: await measure(redis, operations, () => work(redis)),
        list200: await measure(redis, operations / 100, () =>
          listRequests(redis, { namespace, deployment, limit: 200 }),
        ),
        ...(await measureCalls(redis)),
      });
      present = records + operations;
    }
    return figures;
  });
}

/** Admissions where a workspace has few and many API keys. */
export async function measureKeys(sizes: readonly number[], operations: number): Promise<KeyFigures[]> {
  const name = (index: number) => String(index).padStart(64, '0');
  return withOwnRedis(async (redis) => {
    const figures: KeyFigures[] = [];
    let present = 0;
    for (const keys of sizes) {
      const known = present;
      await repeat(keys - known, (i) => publishApiKey(redis, namespace, name(known + i), API_KEY));
      present = keys;
      const admit = await measure(redis, operations, () =>
        admitKey(redis, name(Math.floor(Math.random() * keys))),
      );
      figures.push({ keys, admit });
    }
    return figures;
  });
}

/** On a Redis that holds nothing else. */
async function withOwnRedis<T>(measure: (redis: RedisClient) => Promise<T>): Promise<T> {
  const server = await startRedis();
  const connection = await connectTo(server, { commandTimeoutMs: 30_000 });
  try {
    await loadLibrary(connection.redis);
    return await measure(connection.redis);
  } finally {
    await connection.close();
    await server.stop();
  }
}

async function measureCalls(
  redis: RedisClient,
): Promise<Pick<QueueFigures, 'admitMs' | 'listMs' | 'detailMs'>> {
  const [record] = await listRequests(redis, { namespace, deployment, limit: 1 });
  const time = async (call: () => Promise<unknown>) => {
    const times: number[] = [];
    for (let i = 0; i < CALLS; i++) {
      const start = performance.now();
      await call();
      times.push(performance.now() - start);
    }
    return median(times);
  };
  return {
    admitMs: await time(() => admitKey(redis, API_KEYS[0]!)),
    listMs: await time(() => listRequests(redis, { namespace, deployment, limit: LISTED })),
    detailMs: await time(() => readRequest(redis, namespace, record!.id)),
  };
}

const admitKey = (redis: RedisClient, sha256: string) => admit(redis, { namespace, sha256, counted: 'all' });

let submissions = 0;

const submit = (redis: RedisClient) =>
  submitRequest(
    redis,
    submissionOf({
      namespace,
      deployment,
      sha256: API_KEYS[submissions++ % API_KEYS.length]!,
      priceMicros: 40_000,
      size: '720x1280',
      seconds: '5',
      params: PARAMS,
    }),
  );

async function work(redis: RedisClient): Promise<void> {
  const token = randomBytes(16).toString('hex');
  const job = await claimRequest(redis, { namespace, deployment, token, pod: 'bench-0' });
  if (!job) throw new Error('The queue is empty');
  await finishRequest(redis, job.claim, success());
}

async function repeat(times: number, operation: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < times) await operation(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
}

/** Medians of slices, since one of them may be disturbed on a shared machine. */
async function measure(
  redis: RedisClient,
  times: number,
  operation: (i: number) => Promise<unknown>,
): Promise<Cost> {
  const slices: Cost[] = [];
  const share = times / SLICES;
  for (let slice = 0; slice < SLICES; slice++) {
    const [before, start] = [await readMicros(redis), performance.now()];
    await repeat(share, operation);
    const seconds = (performance.now() - start) / 1000;
    slices.push({ perSecond: share / seconds, redisMicros: ((await readMicros(redis)) - before) / share });
  }
  return {
    perSecond: median(slices.map(({ perSecond }) => perSecond)),
    redisMicros: median(slices.map(({ redisMicros }) => redisMicros)),
  };
}

/** CPU time of the thread that runs commands, in microseconds. */
async function readMicros(redis: RedisClient): Promise<number> {
  const text = await redis.info('cpu');
  const read = (field: string) => Number(new RegExp(`${field}:([0-9.]+)`).exec(text)![1]);
  return 1e6 * (read('used_cpu_user_main_thread') + read('used_cpu_sys_main_thread'));
}

if (import.meta.main) {
  const figures = await measureQueue(RECORDS, OPERATIONS);
  const byKeys = await measureKeys(KEYS, OPERATIONS);
  console.log(`${formatQueue(figures)}\n\n${formatKeys(byKeys)}`);
  console.log(`\n${formatGoals([...listQueueGoals(figures), ...listKeyGoals(byKeys)])}`);
}
