/** The chat for aiperf: one that URL or MODEL names, the first one that is served here, or that of a `make run` started for it. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateApiKey, hashApiKey } from '../../../api/identity.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { type EndpointsFile, LOCAL_ENDPOINTS, readEndpoints } from '../../../launch/endpoints-file.ts';
import { applyObjects, runKubectl } from '../../../launch/kubectl.ts';
import { createLocalKey, type LocalKey } from '../../support/local-key.ts';
import { pollUntil } from '../../support/poll.ts';
import { makeFolder } from '../folders.ts';

export interface ChatTarget {
  /** In the table. */
  name: string;
  /** Before the API's paths. */
  origin: string;
  model: string;
  key: string;
  /** Command prefix for processes that reach it. */
  exec: string[];
}

interface OpenTarget {
  target: ChatTarget;
  close(): Promise<void>;
}

const NAMESPACE = 'default';
/** Out of reach of any load here. */
const LIMITS = { rpm: 10_000_000, tpd: 1_000_000_000_000, priority: 0 };
const PACE = [
  { name: 'SIMULATOR_TTFT_MS', value: '50' },
  { name: 'SIMULATOR_ITL_MS', value: '10' },
];
const START_TIMEOUT_MS = 110_000;
const NOTHING_TO_CLOSE = async () => {};

export async function openTarget(): Promise<OpenTarget> {
  const { URL: url, KEY: key, MODEL: model } = process.env;
  if (url) {
    if (!key || !model) throw new Error('URL needs KEY and MODEL beside it');
    const target = { name: url, origin: toOrigin(url), model, key, exec: [] };
    return { target, close: NOTHING_TO_CLOSE };
  }
  const running = readEndpoints(LOCAL_ENDPOINTS);
  if (running) return { target: await describeTarget(running), close: NOTHING_TO_CLOSE };
  const { endpoints, close } = await startRun();
  try {
    const target = await describeTarget(endpoints);
    const name = `${target.name}, engines with 50 ms to the first token and 10 ms between`;
    return { target: { ...target, name }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** aiperf adds the version itself. */
const toOrigin = (url: string): string => url.replace(/\/(v1\/?)?$/, '');

async function describeTarget(endpoints: EndpointsFile): Promise<ChatTarget> {
  const { MODEL } = process.env;
  const isAsked = ({ kind, paused, modelId }: EndpointsFile['deployments'][number]) =>
    MODEL === undefined ? kind === 'LLM' && !paused : modelId === MODEL;
  const asked = endpoints.deployments.find(isAsked);
  if (!asked) throw new Error(`no ${MODEL ?? 'chat'} is served here`);
  const { baseURL, modelId } = asked;
  const isCluster = endpoints.mode === 'cluster';
  const key = generateApiKey();
  const sha256 = hashApiKey(key);
  const request = { namespace: NAMESPACE, name: `key-${sha256.slice(0, 10)}`, sha256, ...LIMITS };
  await (isCluster ? applyKey(endpoints, request) : createLocalKey(endpoints, request));
  return {
    name: isCluster ? 'through the ingress of make cluster' : 'through make run',
    origin: toOrigin(baseURL),
    model: modelId,
    key,
    exec: endpoints.cluster?.exec ?? [],
  };
}

/** Resolves once the gateways know it. */
async function applyKey({ cluster }: EndpointsFile, { namespace, name, ...spec }: LocalKey): Promise<void> {
  await applyObjects(cluster!, [
    { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name, namespace }, spec },
  ]);
  const wait = ['wait', `apikey/${name}`, '-n', namespace, '--for=condition=Ready', '--timeout=20s'];
  await runKubectl(cluster!, wait);
}

/** A new `make run` in a new folder, which ends with the bench in any case. */
async function startRun(): Promise<{ endpoints: EndpointsFile; close(): Promise<void> }> {
  const folder = makeFolder();
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', process.execPath, 'launch/local.ts'], {
    // Its MODEL is the name of one that is served.
    env: { ...process.env, BERTH_STATE: folder, MODELS: writeModels(folder), MODEL: '' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const close = async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  };
  let endpoints: EndpointsFile | undefined;
  await pollUntil(
    () => {
      endpoints = readEndpoints(join(folder, 'endpoints.json'));
      return endpoints !== undefined || child.exitCode !== null;
    },
    'the start of make run',
    START_TIMEOUT_MS,
  ).catch(() => {});
  if (endpoints) return { endpoints, close };
  await close();
  throw new Error('make run did not start');
}

/** Two replicas with a fixed pace; the rest of the time is spent between them and aiperf. */
function writeModels(folder: string): string {
  const models = join(folder, 'models');
  mkdirSync(models);
  const deployment = {
    apiVersion: API_VERSION,
    kind: 'ModelDeployment',
    metadata: { name: 'chat', namespace: NAMESPACE },
    spec: {
      kind: 'LLM',
      model: { id: 'bench/chat' },
      engine: { preset: 'simulator', env: PACE },
      replicas: 2,
    },
  };
  writeFileSync(join(models, 'chat.yaml'), JSON.stringify(deployment));
  return models;
}
