/** A deployment with a queue: Redis, storage, engines and sidecars as real processes, and a sweeper. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { promptKey } from '../../../api/identity.ts';
import { SIDECAR_SECRET_FILES } from '../../../api/names.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RequestRecord, RequestStatus } from '../../../api/request.ts';
import { sealParams } from '../../../api/sealed-request.ts';
import type { Job } from '../../../gateway/engine/job.ts';
import { isRedisAway, type RedisConnection } from '../../../redis/client.ts';
import { inspectRedis } from '../../../redis/inspection.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { type NewRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { createExpiryGate, sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { findFreePort } from '../../support/child-program.ts';
import {
  describeModel,
  type Engine,
  type ModelReplica,
  PEER_TOKEN,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { PREFIX, submissionOf } from '../../support/request-fixture.ts';
import { type StorageService, startStorageService } from '../../support/storage-service.ts';
import { TestStack } from '../../support/test-stack.ts';

export interface Pod {
  /** Its name is `pod-` and this. */
  address: string;
  engine: Engine;
  replica: ModelReplica;
  /** Kills the gateway without warning and starts it again. */
  crash(): Promise<void>;
  startAgain(): Promise<void>;
  /** On the port of the one before. */
  restartEngine(): Promise<void>;
}

export interface StackOptions {
  kind: 'Image' | 'Video';
  /** Spec of the ModelDeployment. */
  spec?: Record<string, unknown>;
  jobSeconds?: number;
  pods?: number;
  env?: Record<string, string>;
  /** Grace of the sweeper after a restart of Redis. */
  graceMs?: number;
  /** In place of the test's own storage and sweeper. */
  startFront?: (server: RedisServer) => Promise<FrontStorage>;
}

export interface FrontStorage {
  /** URL of the storage service. */
  url: string;
  token: string;
  stop(): Promise<void>;
}

export interface JobStack {
  config: GatewayConfig;
  server: RedisServer;
  connection: RedisConnection;
  storage: StorageService;
  pods: Pod[];
  publish(changes: Partial<GatewayConfig>): Promise<unknown>;
  submit(parameters?: object, more?: Partial<Job>, submission?: Partial<NewRequest>): Promise<string>;
  send(submission: Partial<NewRequest>): Promise<string>;
  read(id: string): Promise<RequestRecord>;
  untilIs(id: string, status: RequestStatus | RequestStatus[], timeoutMs?: number): Promise<RequestRecord>;
  /** The rows of the outbox, by request. */
  readEvents(): Promise<Map<string, { type: string; data: Record<string, unknown> }>>;
  stop(): Promise<void>;
}

const NAMESPACE = 'team';
const SWEEP_MS = 200;

export async function startJobStack(options: StackOptions): Promise<JobStack> {
  const { kind, jobSeconds = 0.3, pods: count = 1 } = options;
  const isVideo = kind === 'Video';
  const config = describeModel(
    {
      kind,
      model: { id: 'berth/chat', source: { none: {} } },
      ...(isVideo
        ? { video: { resolutions: ['64x64'], tasks: ['t2v', 'i2v'] } }
        : { image: { sizes: ['64x64'], tasks: ['txt2img', 'img2img'] } }),
      ...options.spec,
    },
    { namespace: NAMESPACE, name: 'media' },
  );
  const base = await TestStack.start({ isStrict: true });
  const { server, connection, redis } = base;
  // Sidecars have their workspace's rights and no others.
  const user = { namespace: NAMESPACE, username: `ws:${NAMESPACE}`, password: 'secret' };
  await ensureWorkspaceUser(redis, user);
  await publishDeployment(redis, config);
  const storage = await startStorageService();
  const front = await options.startFront?.(server);
  const token = front?.token ?? 'storage-token';
  const sweeper = front ?? startSweeper(connection, options.graceMs ?? 0);

  const folder = mkdtempSync(join(tmpdir(), 'berth-pod-'));
  for (const [file, text] of Object.entries({
    [SIDECAR_SECRET_FILES.config]: JSON.stringify(config),
    [SIDECAR_SECRET_FILES.peerToken]: PEER_TOKEN,
    [SIDECAR_SECRET_FILES.storageToken]: token,
    [SIDECAR_SECRET_FILES.requestPrefix]: PREFIX,
    [SIDECAR_SECRET_FILES.redisUsername]: user.username,
    [SIDECAR_SECRET_FILES.redisPassword]: user.password,
  }))
    writeFileSync(join(folder, file), text);
  const addresses = Array.from({ length: count }, (_, index) => `127.0.0.${20 + index}`);
  const port = await findFreePort(addresses);
  const env = {
    [GATEWAY_ENV.secretPath]: folder,
    [GATEWAY_ENV.storageURL]: front?.url ?? storage.url,
    ...options.env,
  };
  const startPod = async (address: string): Promise<Pod> => {
    const runEngine = (enginePort: string) =>
      startEngine({
        SIMULATOR_KIND: kind,
        SIMULATOR_JOB_SECONDS: String(jobSeconds),
        SIMULATOR_PORT: enginePort,
      });
    const engine = await runEngine('0');
    const start = (engineURL: string) =>
      startReplica({ redisURL: server.url, engineURL, config, address, port, env });
    const { port: enginePort } = new URL(engine.url);
    const pod: Pod = {
      address,
      engine,
      replica: await start(engine.url),
      crash: () => pod.replica.stop('SIGKILL'),
      startAgain: async () => {
        pod.replica = await start(pod.engine.url);
      },
      restartEngine: async () => {
        await pod.engine.stop('SIGKILL');
        pod.engine = await runEngine(enginePort);
      },
    };
    return pod;
  };
  const pods = await Promise.all(addresses.map(startPod));
  for (const { replica } of pods)
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'a ready replica', 30_000);

  const send = async (submission: Partial<NewRequest>): Promise<string> => {
    const whole = submissionOf({ namespace: NAMESPACE, deployment: config.name, ...submission });
    whole.params = sealParams(whole.params, whole, promptKey(token));
    const answer = await submitRequest(redis, whole);
    if (answer.verdict !== 'accepted') throw new Error(`submission: ${answer.verdict}`);
    return whole.id;
  };
  const read = async (id: string): Promise<RequestRecord> => (await readRequest(redis, NAMESPACE, id))!;
  const stack: JobStack = {
    config,
    server,
    connection,
    storage,
    pods,
    send,
    read,
    publish: (changes) => publishDeployment(redis, { ...config, ...changes }),
    submit: (parameters = {}, more = {}, submission = {}) => {
      const job = isVideo
        ? { task: 't2v', prompt: 'a cat', size: '64x64', frames: 9, fps: 8, ...parameters }
        : { task: 'txt2img', prompt: 'a cat', size: '64x64', n: 1, ...parameters };
      const base = { v: 1, kind: isVideo ? 'video' : 'image', credential: null, inputs: [], parameters: job };
      const params = JSON.stringify({ ...base, ...more });
      return send({ modality: isVideo ? 'video' : 'image', params, ...submission });
    },
    untilIs: async (id, status, timeoutMs = 30_000) => {
      const wanted = [status].flat();
      await pollUntil(
        () =>
          read(id).then(
            (record) => wanted.includes(record.status),
            () => false,
          ),
        `${wanted.join(' or ')}`,
        timeoutMs,
      ).catch(async (error) => {
        throw new Error(
          `${error.message}: ${JSON.stringify(await read(id))}\n${pods[0]!.replica.program.output}`,
        );
      });
      return read(id);
    },
    readEvents: async () => {
      const keys = workKeys(NAMESPACE);
      const ids = await redis.zrange(keys.outbox, '0', '-1');
      const rows = await Promise.all(ids.map((id) => redis.get(keys.event(id))));
      const events = rows.map((row) => JSON.parse(row!.slice(row!.indexOf('\n') + 1)));
      return new Map(events.map((event) => [event.data.id, event]));
    },
    stop: async () => {
      await Promise.all(
        pods.flatMap(({ engine, replica }) => [engine.stop('SIGKILL'), replica.stop('SIGKILL')]),
      );
      await sweeper.stop();
      await storage.stop();
      await base.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return stack;
}

/** As the front does it. */
function startSweeper({ redis, onStateChange }: RedisConnection, graceMs: number) {
  const gate = createExpiryGate({ graceMs });
  onStateChange((state) => state === 'away' && gate.reset());
  let isOver = false;
  const sweep = async () => {
    while (!isOver) {
      await inspectRedis(redis)
        .then(({ runId }) =>
          sweepRequests(redis, NAMESPACE, { expireUntil: gate.observe(runId) ? Number.MAX_SAFE_INTEGER : 0 }),
        )
        .catch((error) => {
          if (!isRedisAway(error)) throw error;
        });
      await new Promise((resolve) => setTimeout(resolve, SWEEP_MS));
    }
  };
  const ended = sweep();
  return {
    stop: () => {
      isOver = true;
      return ended;
    },
  };
}
