/** What the operator's tests share: a real API server with Berth's resources, a real Redis, operators to start and kill. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../kube/resource.ts';
import { createProgram, type OperatorOptions, type Program } from '../../../operator/program.ts';
import { connectRedis, type RedisConnection } from '../../../redis/client.ts';
import { Cluster } from '../../integration/operator/cluster-player.ts';
import { makeSettings, SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { createKubeRequest } from '../../support/kube-request.ts';
import { pollUntil } from '../../support/poll.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type Api, type CountingClient, useApi } from '../kube/api.ts';

const CRD: Resource = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
/** For hundreds of deployments on a busy machine. */
const SETTLE_MS = 120_000;
const CRD_FOLDER = join(import.meta.dirname, '../../../charts/berth/files/crds');

export interface RunningOperator {
  program: Program;
  client: CountingClient;
  /** Calls that change something. */
  writes(): string[];
  redis: RedisConnection;
  /** Why its lease was lost. */
  lost: string[];
  /** As SIGTERM does. */
  stop(): Promise<void>;
  /** As SIGKILL does: the lease is not released. */
  kill(): Promise<void>;
}

export interface Harness {
  api: Api;
  cluster: Cluster;
  redis: RedisConnection;
  server: RedisServer;
  startOperator(change?: Partial<OperatorOptions>): RunningOperator;
  /** Waits until an operator leads and has nothing left to do. */
  settle(operator: RunningOperator): Promise<void>;
}

export interface HarnessOptions {
  /** The kube-apiserver of another version. */
  program?: string;
  /** Without Berth's resources, which a test installs itself. */
  isBare?: boolean;
}

/** Starts everything before the tests of a `describe`; operators are stopped after each test. */
export function useHarness({ program, isBare = false }: HarnessOptions = {}): Harness {
  const api = useApi({ program });
  const operators: RunningOperator[] = [];
  let server: RedisServer;
  let redis: RedisConnection;
  let cluster: Cluster;

  before(async () => {
    server = await startRedis();
    redis = connectRedis({ url: server.url, name: 'tests', role: 'operator' });
    await redis.untilUp(60_000);
    const client = api.connect();
    if (!isBare) await installResources(client);
    await client.create(RESOURCES.IngressClass, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'test' },
      spec: { controller: 'example.test/controller' },
    });
    cluster = new Cluster(client, createKubeRequest(api.controlPlane));
    await cluster.makeNamespace(SYSTEM_NAMESPACE);
  });
  afterEach(async () => {
    await Promise.all(operators.splice(0).map((operator) => operator.stop()));
  });
  after(async () => {
    await redis?.close();
    await server?.stop();
  });

  const startOperator: Harness['startOperator'] = (change = {}) => {
    const calls = api.connect();
    const client = change.client ?? calls;
    const leaseClient = change.leaseClient ?? api.connect();
    const connection = connectRedis({ url: server.url, name: 'operator', role: 'operator' });
    const lost: string[] = [];
    const program = createProgram({
      client,
      leaseClient,
      redis: connection,
      settings: makeSettings(),
      podName: 'operator-1',
      lease: { name: 'berth-operator', durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 1_000 },
      onLost: (reason) => lost.push(reason),
      log: process.env.TEST_LOG ? consoleLog : silentLog,
      checkIntervalMs: 100,
      ...change,
    });
    const ended = program.start();
    let stopped: Promise<void> | undefined;
    const end = async (how: () => Promise<void>) => {
      await how();
      await ended.catch(() => {});
      await connection.close();
    };
    const operator: RunningOperator = {
      program,
      client: calls,
      writes: () =>
        calls.calls
          .filter(({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'events')
          .map(({ verb, resource }) => `${verb} ${resource}`),
      redis: connection,
      lost,
      stop: () => (stopped ??= end(() => program.stop())),
      kill: () =>
        (stopped ??= end(async () => {
          await leaseClient.close();
          await program.stop();
        })),
    };
    operators.push(operator);
    return operator;
  };

  return {
    get api() {
      return api;
    },
    get cluster() {
      return cluster;
    },
    get redis() {
      return redis;
    },
    get server() {
      return server;
    },
    startOperator,
    settle: async ({ program }) => {
      await pollUntil(() => program.isLeading() && program.isIdle(), 'the operator to settle', SETTLE_MS);
    },
  };
}

const consoleLog = Object.fromEntries(
  ['debug', 'info', 'warn', 'error'].map((level) => [
    level,
    (fields: { err?: Error }, message: string) =>
      console.log(level, message, JSON.stringify(fields), fields.err?.stack ?? ''),
  ]),
) as unknown as typeof silentLog;

async function installResources(client: CountingClient): Promise<void> {
  for (const file of readdirSync(CRD_FOLDER).filter((name) => name.endsWith('.yaml'))) {
    const definition = parse(readFileSync(join(CRD_FOLDER, file), 'utf8')) as KubeObject;
    await client.create(CRD, definition);
    await pollUntil(async () => {
      const live = await client.get(CRD, { name: definition.metadata.name });
      const { conditions } = (live.status ?? {}) as {
        conditions?: { type: string; status: string }[] | null;
      };
      return (conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
    });
  }
}
