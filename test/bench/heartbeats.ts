/**
 * What 3,000 replicas that nobody asks for anything cost Redis, with two fronts and the operator's scaler: the parts of each that
 * call Redis by themselves, over a connection for each replica. Part of `make bench` (ONLY=heartbeats); also alone.
 */
import { buildGatewayConfig } from '../../api/gateway-config.ts';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { channels } from '../../api/redis-keys.ts';
import { Heartbeats } from '../../gateway/capacity/heartbeats.ts';
import { Slots } from '../../gateway/capacity/replica-capacity.ts';
import { startHousekeeping } from '../../gateway/front/housekeeping/housekeeping.ts';
import type { WorkerServices } from '../../gateway/jobs/services.ts';
import { startWorker } from '../../gateway/jobs/worker.ts';
import { watchConfig } from '../../gateway/sidecar/live-config.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import { createMetrics } from '../../gateway/telemetry/metrics.ts';
import { UsageMeter } from '../../gateway/telemetry/usage.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readDemand } from '../../redis/demand/demand.ts';
import { heartbeat } from '../../redis/heartbeats/heartbeats.ts';
import { loadLibrary } from '../../redis/library.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import { readDeployment } from '../../redis/publication/published.ts';
import { subscribe } from '../../redis/subscription.ts';
import { ensureWorkspaceUser } from '../../redis/workspaces/users.ts';
import { describeReplica } from '../support/heartbeat.ts';
import { connectTo } from '../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../support/redis-server.ts';
import { atMost, formatGoals, formatRows, type Goal } from './report.ts';

export interface IdleFigures {
  deployments: number;
  replicas: number;
  /** Time of all threads of Redis. */
  cpuPercent: number;
  aofGBPerDay: number;
  callsPerSecond: number;
}

interface Deployment {
  namespace: string;
  name: string;
}

const REPLICAS = Number(process.env.REPLICAS ?? 3_000);
const DEPLOYMENTS = (process.env.DEPLOYMENTS ?? '3000,300,30').split(',').map(Number);
const WORKSPACES = 30;
const PASSWORD = 'of-a-workspace';
/** By then all changes are reported, and intervals are at their longest. */
const SETTLE_MS = 30_000;
const MEASURE_MS = 20_000;
const SAMPLE_INTERVAL_MS = 2_000;
const CONNECTED_AT_ONCE = 100;
const SECONDS_PER_DAY = 86_400;

export async function measureIdleFleets(): Promise<IdleFigures[]> {
  const figures: IdleFigures[] = [];
  for (const deployments of DEPLOYMENTS) figures.push(await measureIdleFleet(deployments));
  return figures;
}

async function measureIdleFleet(count: number): Promise<IdleFigures> {
  const closing: (() => unknown)[] = [];
  const server = await startRedis();
  closing.push(() => server.stop());
  const { redis, close } = await connectTo(server);
  closing.push(close);
  try {
    await loadLibrary(redis);
    const deployments = await publish(redis, count);
    const replicas = Array.from({ length: REPLICAS }, (_, index) => index);
    while (replicas.length > 0)
      await Promise.all(
        replicas.splice(0, CONNECTED_AT_ONCE).map(async (index) => {
          const deployment = deployments[index % count]!;
          closing.push(await startReplica(server, deployment, { index, isMedia: isMedia(index % count) }));
        }),
      );
    for (const front of ['front-1', 'front-2']) closing.push(await startFront(server, front));
    const keys = deployments.map(({ namespace, name }) => `${namespace}/${name}`);
    const look = setInterval(() => void readDemand(redis, keys).catch(() => {}), SAMPLE_INTERVAL_MS);
    closing.push(() => clearInterval(look));
    await pause(SETTLE_MS);
    const [before, start] = [await readUse(redis), performance.now()];
    await pause(MEASURE_MS);
    const [after, seconds] = [await readUse(redis), (performance.now() - start) / 1_000];
    return {
      deployments: count,
      replicas: REPLICAS,
      cpuPercent: ((after.cpuSeconds - before.cpuSeconds) / seconds) * 100,
      aofGBPerDay: ((after.aofBytes - before.aofBytes) / seconds / 1e9) * SECONDS_PER_DAY,
      callsPerSecond: (after.calls - before.calls) / seconds,
    };
  } finally {
    for (const end of closing.reverse()) await end();
  }
}

/** Every second one has a queue. */
const isMedia = (deployment: number): boolean => deployment % 2 === 1;

async function publish(redis: RedisClient, count: number): Promise<Deployment[]> {
  const deployments: Deployment[] = [];
  for (let index = 0; index < count; index++) {
    const namespace = `an-ordinary-namespace-${index % WORKSPACES}`;
    const name = `an-ordinary-deployment-${index}`;
    const config = buildGatewayConfig(
      modelDeployment.parse({
        apiVersion: API_VERSION,
        kind: 'ModelDeployment',
        metadata: { name, namespace },
        spec: {
          kind: isMedia(index) ? 'Video' : 'LLM',
          model: { id: 'bench/model', source: {} },
          engine: { preset: 'simulator' },
        },
      }),
    );
    await publishDeployment(redis, config);
    if (index < WORKSPACES)
      await ensureWorkspaceUser(redis, { namespace, username: `ws:${namespace}`, password: PASSWORD });
    deployments.push({ namespace, name });
  }
  return deployments;
}

/** Returns the function that ends it. */
async function startReplica(
  server: RedisServer,
  { namespace, name }: Deployment,
  { index, isMedia }: { index: number; isMedia: boolean },
): Promise<() => unknown> {
  const pod = `${name}-7d9f8b6c5d-${index}`;
  const connection = await connectTo(server, {
    username: `ws:${namespace}`,
    password: PASSWORD,
    role: 'sidecar',
    name: pod,
  });
  const { redis } = connection;
  const initial = (await readDeployment(redis, namespace, name))!;
  const config = watchConfig({
    initial,
    read: () => readDeployment(redis, namespace, name),
    onError: () => {},
  });
  const { every: _, ...own } = describeReplica({ pod });
  const heartbeats = new Heartbeats({
    describe: () => own,
    send: (word, knownEdition) => heartbeat(redis, { namespace, name, heartbeat: word, knownEdition }),
    onError: () => {},
  });
  const listening = [channels.workspace(namespace), channels.jobs(namespace, name)];
  const subscription = subscribe(connection, listening, { onMessage: () => {}, onResume: () => {} });
  const meter = new UsageMeter({ redis, log: createLog('silent') });
  meter.of(namespace, name, isMedia);
  const worker = isMedia
    ? startWorker({
        slots: new Slots(() => 1),
        config: () => config.current,
        redis,
        pod,
        engine: { isReady: () => true },
        jobs: { running: 0, abandoned: 0 },
      } as unknown as WorkerServices)
    : null;
  return async () => {
    config.close();
    await Promise.all([worker?.stop(0), heartbeats.close(), subscription.close(), meter.close()]);
    await connection.close();
  };
}

async function startFront(server: RedisServer, name: string): Promise<() => unknown> {
  const credentials = { username: 'berth-front', password: REDIS_PASSWORDS.front };
  const connection = await connectTo(server, { ...credentials, role: 'front', name });
  const housekeeping = startHousekeeping({
    connection,
    stores: { find: async () => null },
    log: createLog('silent'),
    metrics: createMetrics(),
  });
  return async () => {
    await housekeeping.close();
    await connection.close();
  };
}

async function readUse(redis: RedisClient): Promise<{ cpuSeconds: number; aofBytes: number; calls: number }> {
  const text = await redis.info();
  const read = (field: string) => Number(new RegExp(`^${field}:([0-9.]+)`, 'm').exec(text)![1]);
  return {
    cpuSeconds: read('used_cpu_user') + read('used_cpu_sys'),
    aofBytes: read('aof_current_size'),
    calls: read('total_commands_processed'),
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export function formatIdleFleets(figures: readonly IdleFigures[]): string {
  const row = (label: string, read: (each: IdleFigures) => string) => [label, ...figures.map(read)];
  return formatRows([
    row(`Redis at rest, ${REPLICAS} replicas`, ({ deployments }) => `of ${deployments} deployments`),
    row('CPU, % of a core', ({ cpuPercent }) => cpuPercent.toFixed(2)),
    row('append-only file, GB a day', ({ aofGBPerDay }) => aofGBPerDay.toFixed(2)),
    row('commands/s, those of functions included', ({ callsPerSecond }) => callsPerSecond.toFixed(0)),
  ]);
}

export const listIdleGoals = (figures: readonly IdleFigures[]): Goal[] =>
  figures.flatMap(({ deployments, cpuPercent, aofGBPerDay }) => [
    atMost(`Redis at rest, ${deployments} deployments: % of a core`, cpuPercent, 5),
    atMost(`Redis at rest, ${deployments} deployments: GB a day`, aofGBPerDay, 5),
  ]);

if (import.meta.main) {
  const figures = await measureIdleFleets();
  console.log(`${formatIdleFleets(figures)}\n\n${formatGoals(listIdleGoals(figures))}`);
  process.exit();
}
