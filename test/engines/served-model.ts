/** A model behind `make run`: its engine's program of this machine, started by the preset's own command, and the gateway before it. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import type { Target } from './answers.ts';
import { type EngineName, REAL_ENGINES } from './catalog.ts';
import { listEngineProcesses, type ProcessEntry } from './engine-processes.ts';

export interface ServedModel {
  /** The endpoint, and the engine itself, past it. */
  gateway: Target;
  engine: Target;
  processes(): ProcessEntry[];
  /** How often the engine's container was started again. */
  restarts(): Promise<number>;
  /** Changes the spec of the deployment. */
  patch(spec: object): Promise<void>;
  /** Deletes its pod, which is replaced. */
  deletePod(): Promise<void>;
  untilReady(): Promise<void>;
  /** What the engine works on, by its own metrics. */
  countRunning(): Promise<number>;
  stop(): Promise<void>;
}

const NAME = 'real';
const CLAIM = 'weights';
/** Its family, which its name tells, is one whose tool calls are as the tiny model's template has them. */
const MODEL_ID = 'org/qwen3-tiny-instruct';
/** On a busy machine its libraries alone take minutes to load. */
const START_TIMEOUT_MS = 600_000;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENT = `/apis/berth.dev/v1alpha1/namespaces/default/modeldeployments/${NAME}`;

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  status?: { podIP?: string; containerStatuses?: { name: string; restartCount: number }[] };
}

export interface ServeOptions {
  kind?: 'LLM' | 'Embedding';
  /** Over the spec that the engine's tiny model needs. */
  spec?: object;
}

export async function serveModel(
  name: EngineName,
  { kind = 'LLM', spec }: ServeOptions = {},
): Promise<ServedModel> {
  const real = REAL_ENGINES[name];
  const programs = real.install();
  const { folder: weights, path, args, env } = real.tinyModel(kind);
  const folder = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  const claim = join(folder, 'claims', 'default', CLAIM);
  mkdirSync(claim, { recursive: true });
  cpSync(weights, claim, { recursive: true });
  const models = join(folder, 'models');
  mkdirSync(models);
  const object = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name: NAME, namespace: 'default' },
    spec: {
      kind,
      model: { id: MODEL_ID, source: { pvc: { claimName: CLAIM, path } } },
      engine: {
        preset: name,
        args,
        env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
      },
      ...spec,
    },
  };
  writeFileSync(join(models, 'real.yaml'), JSON.stringify(object));
  const stack = await startLocalStack({
    BERTH_STATE: folder,
    MODELS: models,
    PATH: `${programs}${delimiter}${process.env.PATH}`,
  });
  const served = describeServed(stack, real.running, folder);
  try {
    await served.untilReady();
    return served;
  } catch (error) {
    const said = await served.readLog();
    await served.stop();
    throw new Error(`${(error as Error).message}\n${said}`);
  }
}

const isHealthy = (address: string): Promise<boolean> =>
  fetch(`http://${address}:8000/health`).then(
    ({ ok }) => ok,
    () => false,
  );

function describeServed(stack: LocalStack, running: RegExp, folder: string) {
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
  const findPod = async (): Promise<Pod | undefined> => {
    const { items } = (await call('GET', `${PODS}?labelSelector=berth.dev/deployment=${NAME}`)) as {
      items: Pod[];
    };
    return items.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const entry = stack.endpoints.deployments.find(({ name }) => name === NAME)!;
  let address = '';
  const served = {
    gateway: { baseURL: entry.baseURL, model: MODEL_ID, key: entry.apiKey },
    get engine() {
      return { baseURL: `http://${address}:8000/v1`, model: MODEL_ID };
    },
    processes: () => listEngineProcesses(address),
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
    untilReady: () =>
      pollUntil(
        async () => {
          const { status } = (await call('GET', DEPLOYMENT)) as { status?: { phase?: string } };
          address = (await findPod())?.status?.podIP ?? '';
          // Just after a pod was deleted, the status is the one of before.
          return status?.phase === 'Ready' && (await isHealthy(address));
        },
        'the engine to serve',
        START_TIMEOUT_MS,
      ),
    countRunning: async () => {
      const text = await (await fetch(`http://${address}:8000/metrics`)).text();
      return Number(running.exec(text)?.[1] ?? Number.NaN);
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
