/** A model served by `make run`: with an engine installed on this machine, started by the preset's command, and its gateway. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { generateApiKey, hashApiKey } from '../../api/identity.ts';
import { PORTS } from '../../api/names.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { createLocalKey } from '../support/local-key.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import { connectTo } from '../support/redis-client.ts';
import { ask, type Target } from './answers.ts';
import { type EngineName, REAL_ENGINES, type RealEngine, type ServedKind } from './catalog.ts';
import { ENGINE_PORT, listEngineProcesses } from './engine-processes.ts';
import { describeTiny, type TinyDeployment } from './tiny-deployment.ts';

export interface ServedModel {
  /** The state of its `make run`. */
  folder: string;
  /** The endpoint, and the engine itself. */
  gateway: Target;
  engine: Target;
  /** The endpoint of another deployment beside it. */
  findTarget(kind: string): Target;
  /** To the engine's processes that match, or to its first one. Throws if there is none. */
  signal(signal: NodeJS.Signals, pattern?: RegExp, address?: string): void;
  /** Addresses of the engines of all its pods. */
  listAddresses(): Promise<string[]>;
  /** Restarts of the engine's container. */
  restarts(): Promise<number>;
  /** Changes the spec of the deployment. */
  patch(spec: object): Promise<void>;
  /** Deletes its pod, which is replaced. */
  deletePod(): Promise<void>;
  untilReady(): Promise<void>;
  /** Running requests, by the engine's metrics. */
  countRunning(address?: string): Promise<number>;
  /** Requests in progress at the gateway. */
  countInFlight(): Promise<number>;
  /** Broken streams that a pod's gateway continued to their end. */
  countContinued(address: string): Promise<number>;
  /** Waiting requests, by the engine's metrics. */
  countWaiting(): Promise<number>;
  /** What the workspace has spent since the start, in millionths. */
  spent(): Promise<number>;
  createKey(spec: { priority: number }): Promise<string>;
  stop(): Promise<void>;
}

/** SGLang Diffusion also uses the port after its own. */
const BESIDE_PORT = ENGINE_PORT + 10;
const NAME = 'real';
/** The name implies a family with the tool calls of the tiny model's template, or with its output format for reranking. */
const modelIdOf = (kind: ServedKind): string =>
  kind === 'Rerank' ? 'org/qwen3-reranker-tiny' : 'org/qwen3-tiny-instruct';
/** On a busy machine, loading its libraries takes minutes. */
const START_TIMEOUT_MS = 600_000;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/berth.dev/v1alpha1/namespaces/default/modeldeployments';
const DEPLOYMENT = `${DEPLOYMENTS}/${NAME}`;

const CONTINUED = /^berth_gateway_continued_streams_total\{[^}]*outcome="completed"[^}]*\} ([\d.]+)/m;

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  status?: { podIP?: string; containerStatuses?: { name: string; restartCount: number }[] };
}

interface Deployment {
  spec: { replicas?: number };
  status?: { phase?: string; readyReplicas?: number };
}

export interface ServeOptions {
  kind?: ServedKind;
  spec?: object;
  engine?: TinyDeployment['engine'];
  modelId?: string;
  /** Another deployment beside it, in the namespace `default`. */
  beside?: TinyDeployment;
}

export async function serveModel(
  name: EngineName,
  { kind = 'LLM', spec, engine, modelId = modelIdOf(kind), beside }: ServeOptions = {},
): Promise<ServedModel> {
  const real = REAL_ENGINES[name];
  const programs = real.install(kind);
  const folder = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  const models = join(folder, 'models');
  mkdirSync(models);
  const add = (deployment: TinyDeployment) => {
    const claim = join(folder, 'claims', 'default', deployment.name);
    cpSync(real.tinyModel(deployment.kind).folder, claim, { recursive: true });
    writeFileSync(join(models, `${deployment.name}.yaml`), JSON.stringify(describeTiny(name, deployment)));
  };
  add({ name: NAME, kind, modelId, ...(spec && { spec }), engine: { ...engine, port: ENGINE_PORT } });
  if (beside) add({ ...beside, engine: { ...beside.engine, port: BESIDE_PORT } });
  const stack = await startLocalStack({
    BERTH_STATE: folder,
    MODELS: models,
    PATH: `${programs}${delimiter}${process.env.PATH}`,
  });
  const warmUp = kind === 'LLM' ? real.firstPrompt : undefined;
  const served = describeServed({ stack, real, folder, servedModelName: engine?.servedModelName, warmUp });
  try {
    await served.untilReady();
    if (beside) await served.untilDeployed(beside.name);
    return served;
  } catch (error) {
    const said = await served.readLog();
    await served.stop();
    throw new Error(`${(error as Error).message}\n${said}`);
  }
}

const isHealthy = (address: string): Promise<boolean> =>
  fetch(`http://${address}:${ENGINE_PORT}/health`).then(
    ({ ok }) => ok,
    () => false,
  );

function describeServed({
  stack,
  real: { running, waiting },
  folder,
  servedModelName,
  warmUp,
}: {
  stack: LocalStack;
  real: RealEngine;
  folder: string;
  servedModelName: string | undefined;
  warmUp: string | undefined;
}) {
  const { url, token } = stack.endpoints.objects!;
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const listAllPods = async (): Promise<Pod[]> => {
    const path = `${PODS}?labelSelector=berth.dev/deployment=${NAME}`;
    return ((await call('GET', path)) as { items: Pod[] }).items;
  };
  const listPods = async (): Promise<Pod[]> =>
    (await listAllPods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const findPod = async (): Promise<Pod | undefined> => (await listPods())[0];
  const toTarget = ({ baseURL, modelId, apiKey }: EndpointEntry): Target => ({
    baseURL,
    model: modelId,
    key: apiKey,
  });
  const entry = stack.endpoints.deployments.find(({ name }) => name === NAME)!;
  let keys = 0;
  let address = '';
  const readMetric = async (port: number, pattern: RegExp | undefined, of = address) => {
    const text = await (await fetch(`http://${of}:${port}/metrics`)).text();
    return Number(pattern?.exec(text)?.[1] ?? Number.NaN);
  };
  const served = {
    folder,
    gateway: toTarget(entry),
    findTarget: (kind: string) => toTarget(stack.find(kind)),
    get engine() {
      return { baseURL: `http://${address}:${ENGINE_PORT}/v1`, model: servedModelName ?? entry.modelId };
    },
    signal: (signal: NodeJS.Signals, pattern?: RegExp, of = address) => {
      const all = listEngineProcesses(of);
      const chosen = pattern ? all.filter(({ command }) => pattern.test(command)) : all.slice(0, 1);
      if (chosen.length === 0) throw new Error(`no process to end among ${JSON.stringify(all)}`);
      for (const { id } of chosen) process.kill(id, signal);
    },
    listAddresses: async () => (await listPods()).flatMap(({ status }) => status?.podIP ?? []),
    restarts: async () => {
      const pod = await findPod();
      return pod?.status?.containerStatuses?.find(({ name }) => name === 'engine')?.restartCount ?? 0;
    },
    patch: async (spec: object) => {
      await call('PATCH', DEPLOYMENT, { spec });
    },
    deletePod: async () => {
      const pod = await findPod();
      await call('DELETE', `${PODS}/${pod!.metadata.name}`);
    },
    untilReady: async () => {
      await pollUntil(
        async () => {
          const { spec, status } = (await call('GET', DEPLOYMENT)) as Deployment;
          const addresses = await served.listAddresses();
          address = addresses[0] ?? '';
          const replicas = spec.replicas ?? 1;
          if (status?.phase !== 'Ready' || status.readyReplicas !== replicas) return false;
          // A deleted pod still gets requests while it drains.
          if ((await listAllPods()).length !== replicas) return false;
          // Just after the deletion of a pod, the status is still the old one.
          return addresses.length > 0 && (await Promise.all(addresses.map(isHealthy))).every(Boolean);
        },
        'the engine to serve',
        START_TIMEOUT_MS,
      );
      if (warmUp === undefined) return;
      for (const each of await served.listAddresses()) {
        const target = { ...served.engine, baseURL: `http://${each}:${ENGINE_PORT}/v1` };
        await ask(target, '/completions', { model: target.model, prompt: warmUp, max_tokens: 1 });
      }
    },
    untilDeployed: (name: string) =>
      pollUntil(
        async () => ((await call('GET', `${DEPLOYMENTS}/${name}`)) as Deployment).status?.phase === 'Ready',
        `${name} to serve`,
        START_TIMEOUT_MS,
      ),
    countRunning: (of?: string) => readMetric(ENGINE_PORT, running, of),
    countWaiting: () => readMetric(ENGINE_PORT, waiting),
    countInFlight: () => readMetric(PORTS.metrics, /^berth_gateway_requests_inflight\{[^}]*\} ([\d.]+)/m),
    countContinued: async (of: string) => (await readMetric(PORTS.metrics, CONTINUED, of)) || 0,
    spent: async () => {
      const connection = await connectTo({ url: stack.endpoints.redisURL });
      try {
        return Number((await connection.redis.get(workKeys('default').credit)) ?? 0);
      } finally {
        await connection.close();
      }
    },
    createKey: async ({ priority }: { priority: number }) => {
      const key = generateApiKey();
      const limits = { rpm: 600, tpd: 1_000_000, priority };
      const request = { namespace: 'default', name: `key-${keys++}`, sha256: hashApiKey(key), ...limits };
      await createLocalKey(stack.endpoints, request);
      return key;
    },
    readLog: async () => {
      const pod = await findPod();
      if (!pod) return 'it has no pod';
      const answer = await fetch(`${url}${PODS}/${pod.metadata.name}/log?container=engine&tailLines=40`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const status = (await call('GET', DEPLOYMENT)) as { status?: unknown };
      return `${await answer.text()}\n${JSON.stringify(status.status)}`;
    },
    stop: async () => {
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return served;
}
