/** A front with a store and no replica at all, two workspaces, and a test in the place of a worker. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { hashApiKey, promptKey, storageToken, workspacePrefix } from '../../../api/identity.ts';
import { openParams } from '../../../api/sealed-request.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import {
  publishApiKeys,
  publishDeployment,
  publishHost,
  publishRequestPrefix,
  publishWorkspace,
} from '../../../redis/publication/publication.ts';
import { type ClaimedJob, claimRequest, finishRequest } from '../../../redis/requests/request-calls.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { describeModel } from '../../support/model-replica.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { newToken } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

export const KEYS = { team: 'sk-team', other: 'sk-other' } as const;
/** Addresses of pods. */
export const REPLICAS = ['127.0.0.41', '127.0.0.42'] as const;
const PROMPT_KEY = promptKey(storageToken(MASTER_KEY, 'team'));
/** Name of the managed store in records. */
export const BUCKET = 'berth';

export type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string };

/** Managed storage of the front. */
export interface ManagedStore {
  /** Origin of its links. */
  origin: string;
  /** Holds the objects as files, named by their keys. */
  folder: string;
  /** The front's settings. */
  front: Pick<Parameters<typeof startFrontProcess>[0], 'secrets' | 'env'>;
  stop(): Promise<void> | void;
}

export interface FrontWorkspace {
  redis: RedisServer;
  connection: RedisConnection;
  store: ManagedStore;
  front: FrontProcess;
  /** Where the front looks for gateways of replicas. */
  replicaPort: number;
  /** Publishes the deployment `name` of `team` with changes; its host is `name.example`. */
  publish(
    name: string,
    spec: Record<string, unknown>,
    changes?: Partial<GatewayConfig>,
  ): Promise<GatewayConfig>;
  call(
    host: string,
    path: string,
    init?: { method?: string; body?: unknown; key?: string; headers?: Record<string, string> },
  ): Promise<Answer>;
  grant(namespace: string, creditMicros: number | null): Promise<unknown>;
  refuseAsync(reason: string | null): Promise<unknown>;
  /** What a worker does: takes the next request of a deployment. */
  /** With its parameters opened. */
  claim(deployment: string): Promise<ClaimedJob>;
  /** Ends it well, with one object of this content in the store. */
  succeed(job: ClaimedJob, content: Buffer, retentionMs?: number | null): Promise<void>;
  fail(job: ClaimedJob): Promise<void>;
  stop(): Promise<void>;
}

export const FILM = {
  kind: 'Video',
  model: { id: 'film', source: { none: {} } },
  video: { resolutions: ['64x64', '128x64'], tasks: ['t2v', 'i2v'] },
};
export const PICTURE = {
  kind: 'Image',
  model: { id: 'picture', source: { none: {} } },
  image: { sizes: ['64x64'], tasks: ['txt2img', 'img2img'] },
};

async function makeFolderStore(): Promise<ManagedStore> {
  const root = mkdtempSync(join(tmpdir(), 'berth-managed-'));
  const folder = join(root, 'objects');
  mkdirSync(folder);
  const port = await findFreePort();
  return {
    origin: `http://127.0.0.1:${port}`,
    folder,
    front: { env: { [GATEWAY_ENV.storageFolder]: root, [GATEWAY_ENV.storagePort]: String(port) } },
    stop: () => rmSync(root, { recursive: true, force: true }),
  };
}

export async function startFrontWorkspace(
  env: Record<string, string> = {},
  openStore: () => Promise<ManagedStore> = makeFolderStore,
): Promise<FrontWorkspace> {
  const stack = await TestStack.start({ isStrict: true });
  const { server: redis, connection, redis: client } = stack;
  const store = await openStore();
  const replicaPort = await findFreePort([...REPLICAS]);
  const front = await startFrontProcess({
    redisURL: redis.url,
    replicaPort,
    ...store.front,
    env: { ...store.front.env, ...env },
  });
  for (const [namespace, key] of Object.entries(KEYS)) {
    await publishApiKeys(
      client,
      namespace,
      new Map([[hashApiKey(key), { n: 'key', rpm: 1000, tpd: 1000, exp: 0, off: 0 as const }]]),
    );
    await publishRequestPrefix(client, workspacePrefix(MASTER_KEY, namespace));
  }
  const states = new Map<string, { creditMicros: number | null; asyncRefusal: string | null }>();
  const change = (namespace: string, fields: object) => {
    const state = { creditMicros: null, asyncRefusal: null, ...states.get(namespace), ...fields };
    states.set(namespace, state);
    return publishWorkspace(client, namespace, state);
  };

  return {
    redis,
    connection,
    store,
    front,
    replicaPort,
    publish: async (name, spec, changes = {}) => {
      const namespace = name.startsWith('other') ? 'other' : 'team';
      const config = { ...describeModel(spec, { namespace, name }), ...changes };
      await publishDeployment(client, config);
      await publishHost(client, `${name}.example`, { namespace, name });
      return config;
    },
    call: async (host, path, { method, body, key = KEYS.team, headers = {} } = {}) => {
      const isForm = body instanceof FormData;
      const form = isForm ? new Request('http://form/', { method: 'POST', body }) : null;
      const payload = form ? Buffer.from(await form.arrayBuffer()) : body && JSON.stringify(body);
      const type = form ? form.headers.get('content-type')! : 'application/json';
      const response = await fetchByHost(`${front.origin}/v1${path}`, `${host}.example`, {
        method: method ?? (body ? 'POST' : 'GET'),
        headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': type } : {}), ...headers },
        body: payload as string | Buffer,
      });
      const text = await response.text();
      let parsed: Record<string, unknown> = {};
      if (text !== '') parsed = JSON.parse(text);
      return { status: response.status, headers: response.headers, body: parsed, text };
    },
    grant: (namespace, creditMicros) => change(namespace, { creditMicros }),
    refuseAsync: (asyncRefusal) => change('team', { asyncRefusal }),
    claim: async (deployment) => {
      const job = await claimRequest(client, {
        namespace: 'team',
        deployment,
        token: newToken(),
        pod: 'pod',
        leaseMs: 60_000,
      });
      if (!job) throw new Error(`nothing waits for ${deployment}`);
      return { ...job, params: openParams(job.params, job.claim, PROMPT_KEY)! };
    },
    succeed: async ({ claim }, content, retentionMs = 86_400_000) => {
      const key = `results/team/${claim.id}/${claim.token}/0.mp4`;
      const path = join(store.folder, key);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      await finishRequest(client, claim, {
        status: 'succeeded',
        output: { bucket: BUCKET, keys: [key], credential: null, provider: null, retentionMs },
        payload: {},
        objects: [],
      });
    },
    fail: async ({ claim }) => {
      await finishRequest(client, claim, {
        status: 'failed',
        code: 'vram_exceeded',
        message: 'out of memory',
        objects: [],
      });
    },
    stop: async () => {
      await front.stop();
      await stack.stop();
      await store.stop();
    },
  };
}
