/** A text deployment that runs batches: replicas, storage and a key, and what a test asks of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { SIDECAR_SECRET_FILES } from '../../../api/names.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { findFreePort } from '../../support/child-program.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  PEER_TOKEN,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishModel } from '../../support/replica-stack.ts';
import { PREFIX } from '../../support/request-fixture.ts';
import { type StorageService, startStorageService } from '../../support/storage-service.ts';
import { TestStack } from '../../support/test-stack.ts';

/** As far as tests read it. */
export interface OutputLine {
  custom_id: string;
  response: {
    status_code: number;
    body: {
      choices: { message: { content: string } }[];
      usage: { total_tokens: number };
      error: { param: string };
    };
  };
  error: { code: string };
}

export interface BatchStack {
  config: GatewayConfig;
  base: TestStack;
  redis: RedisClient;
  storage: StorageService;
  engines: Engine[];
  replicas: ModelReplica[];
  /** OpenAI's own client, of the last replica. */
  client: OpenAI;
  /** Uploads so many chats. */
  upload(lines: number | string[]): Promise<OpenAI.FileObject>;
  create(file: string, more?: object): Promise<OpenAI.Batch>;
  untilEnded(id: string, timeoutMs?: number): Promise<OpenAI.Batch>;
  /** The lines of a file; none without one. */
  read(id: string | null | undefined): Promise<OutputLine[]>;
  credit(): Promise<number>;
  stop(): Promise<void>;
}

export const chatLine = (customId: string, changes: object = {}): string =>
  JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'one two three' }], max_tokens: 4, ...changes },
  });

const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled']);

export async function startBatchStack({
  pods = 1,
  spec = {},
  env = {},
}: {
  pods?: number;
  spec?: Record<string, unknown>;
  env?: Record<string, string>;
} = {}): Promise<BatchStack> {
  const config = describeModel({ concurrency: 8, ...spec });
  const base = await TestStack.start({ isStrict: true });
  // Sidecars have their workspace's rights and no others.
  const user = { namespace: config.namespace, username: `ws:${config.namespace}`, password: 'secret' };
  await ensureWorkspaceUser(base.redis, user);
  await publishModel(base.redis, config);
  const storage = await startStorageService();
  const folder = mkdtempSync(join(tmpdir(), 'berth-batches-'));
  for (const [file, text] of Object.entries({
    [SIDECAR_SECRET_FILES.config]: JSON.stringify(config),
    [SIDECAR_SECRET_FILES.peerToken]: PEER_TOKEN,
    [SIDECAR_SECRET_FILES.storageToken]: 'storage-token',
    [SIDECAR_SECRET_FILES.requestPrefix]: PREFIX,
    [SIDECAR_SECRET_FILES.redisUsername]: user.username,
    [SIDECAR_SECRET_FILES.redisPassword]: user.password,
  }))
    writeFileSync(join(folder, file), text);
  const addresses = Array.from({ length: pods }, (_, index) => `127.0.0.${40 + index}`);
  const port = await findFreePort(addresses);
  const engines: Engine[] = [];
  const replicas: ModelReplica[] = [];
  for (const address of addresses) {
    const engine = await startEngine(env);
    engines.push(engine);
    const replica = await startReplica({
      ...{ redisURL: base.server.url, engineURL: engine.url, config, address, port },
      env: { [GATEWAY_ENV.secretPath]: folder, [GATEWAY_ENV.storageURL]: storage.url },
    });
    replicas.push(replica);
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'a ready replica', 60_000);
  }
  const client = new OpenAI({ apiKey: API_KEY, baseURL: replicas.at(-1)!.url, maxRetries: 0 });
  const { namespace } = config;
  return {
    ...{ config, base, redis: base.redis, storage, engines, replicas, client },
    upload: async (lines) => {
      const texts = typeof lines === 'number' ? nameLines(lines).map((name) => chatLine(name)) : lines;
      const file = await toFile(Buffer.from(`${texts.join('\n')}\n`), 'chats.jsonl');
      return client.files.create({ file, purpose: 'batch' });
    },
    create: (file, more = {}) =>
      client.batches.create({
        input_file_id: file,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        ...more,
      }),
    untilEnded: async (id, timeoutMs = 120_000) => {
      let batch!: OpenAI.Batch;
      await pollUntil(
        async () => {
          // Redis may be restarting.
          batch = await client.batches.retrieve(id).catch(() => batch);
          return ENDED.has(batch?.status);
        },
        'the end of the batch',
        timeoutMs,
      ).catch((error) => {
        throw new Error(`${error.message}: ${JSON.stringify(batch)}\n${replicas.at(-1)!.program.output}`);
      });
      return batch;
    },
    read: async (id) => {
      if (!id) return [];
      const text = await (await client.files.content(id)).text();
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    },
    credit: async () => Number((await base.redis.get(workKeys(namespace).credit)) ?? 0),
    stop: async () => {
      await Promise.all([...replicas, ...engines].map((part) => part.stop('SIGKILL')));
      await storage.stop();
      await base.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const nameLines = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `line-${index}`);
