/** The operator at scale, with a real control plane, nodes simulated by kwok, and a real Redis: the cost of a restart, of a change, and at rest. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Deployment, V1EndpointSlice } from '@kubernetes/client-node';
import type { KubeClient } from '../../kube/client.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { type ChildProgram, startProgram } from '../support/child-program.ts';
import { startRedis } from '../support/redis-server.ts';
import { makeFolder } from './folders.ts';
import { type ModelFront, startModelFront } from './model-front.ts';
import { IDLE_SECONDS, type OperatorFigures } from './operator-report.ts';
import {
  arePodsReady,
  type BenchCluster,
  createModel,
  createModels,
  FRONT_SERVICE,
  listFrontSlices,
  listModels,
  type ModelName,
  SYSTEM_NAMESPACE,
  setFront,
  startBenchCluster,
} from './operator-state.ts';
import { readCPU, readMemory, readPeakMemory } from './pinned-process.ts';
import { median } from './statistics.ts';

const MODELS = Number(process.env.MODELS ?? 1_000);
const APPLIES = 20;
const PORT = 19_210;
const POLL_MS = 200;
/** Metrics of all objects take the operator a tenth of a second, which would distort the figures if they were read more often. */
const METRICS_POLL_MS = 2_000;
const PODS_POLL_MS = 5_000;

/** Fills a cluster by the operator of a checkout, then measures a second one on it. */
export async function measureOperator(checkout = '.'): Promise<OperatorFigures> {
  const redis = await startRedis();
  const front = await startModelFront();
  const cluster = await startBenchCluster(MODELS, checkout);
  const models = listModels(MODELS);
  try {
    const surroundings = { checkout, cluster, front, redisURL: redis.url };
    const first = startOperator(surroundings);
    console.log(`creating ${MODELS} deployments, which takes a while…`);
    await createModels(cluster.client, models);
    await until(() => hasRunAll(models.length), METRICS_POLL_MS);
    console.log('waiting for their pods…');
    await until(() => arePodsReady(cluster.client, models.length), PODS_POLL_MS);
    await until(async () => front.lookups >= models.length);
    await until(isIdle);
    const created = {
      createCPUSeconds: readCPU(first.process.pid!),
      callsPerDeployment: (await readMetrics()).calls / models.length,
    };
    await first.stop();
    console.log('restarting the operator…');
    return { ...created, ...(await measureRestarted(surroundings, models)) };
  } finally {
    await cluster.close();
    await front.close();
    await redis.stop();
  }
}

interface Surroundings {
  checkout: string;
  cluster: BenchCluster;
  front: ModelFront;
  redisURL: string;
}

async function measureRestarted(
  surroundings: Surroundings,
  models: ModelName[],
): Promise<Omit<OperatorFigures, 'createCPUSeconds' | 'callsPerDeployment'>> {
  const { cluster, front } = surroundings;
  const lookupsBefore = front.lookups;
  const started = performance.now();
  const operator = startOperator(surroundings);
  try {
    await until(async () => (await readMetrics()).runs > 0);
    // The last in the list, which waits longest at a start.
    const reactionMs = await measureReaction(cluster.client, models.at(-1)!);
    await until(() => hasRunAll(models.length), METRICS_POLL_MS);
    const restartSeconds = (performance.now() - started) / 1000;
    const restarted = await readMetrics();
    const restartCPUSeconds = readCPU(operator.process.pid!);
    const childrenMs: number[] = [];
    for (let index = 0; index < APPLIES; index++)
      childrenMs.push(await measureChildren(cluster.client, { ...models[0]!, name: `applied-${index}` }));
    await until(async () => front.lookups - lookupsBefore >= models.length);
    await until(isIdle);
    const pid = operator.process.pid!;
    const restartLookups = front.lookups - lookupsBefore;
    const [before, cpu] = [await readMetrics(), readCPU(pid)];
    await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1_000));
    const after = await readMetrics();
    const idleCPUPercent = ((readCPU(pid) - cpu) / IDLE_SECONDS) * 100;
    const residentMiB = readMemory(pid);
    const fronts = await measureFronts(cluster.client);
    return {
      models: models.length,
      restartSeconds,
      restartCPUSeconds,
      restartCalls: restarted.calls,
      // The writes of the change: the Deployment, its status, the front's slice.
      restartWrites: restarted.writes,
      reactionMs,
      residentMiB,
      peakMiB: readPeakMemory(pid),
      idleCPUPercent,
      idleCalls: after.calls - before.calls,
      idleWrites: after.writes - before.writes,
      restartLookups,
      idleLookups: front.lookups - lookupsBefore - restartLookups,
      childrenP50Ms: median(childrenMs),
      ...fronts,
      connections: countConnections(pid, new URL(cluster.controlPlane.url).port),
    };
  } finally {
    await operator.stop();
  }
}

/** What the chart gives the operator, at its memory limit of 512 MiB. */
function readMemorySettings(): Record<string, string> {
  const chart = readFileSync('charts/berth/templates/operator/deployment.yaml', 'utf8');
  const read = (name: string) => new RegExp(`name: ${name}, value: "([^"]+)"`).exec(chart)![1]!;
  const percent = /--max-old-space-size-percentage=(\d+)/;
  const toMiB = (_: string, share: string) => `--max-old-space-size=${(512 * Number(share)) / 100}`;
  return {
    NODE_OPTIONS: read('NODE_OPTIONS').replace(percent, toMiB),
    MALLOC_ARENA_MAX: read('MALLOC_ARENA_MAX'),
    MALLOC_MMAP_THRESHOLD_: read('MALLOC_MMAP_THRESHOLD_'),
  };
}

function startOperator({ checkout, cluster, front, redisURL }: Surroundings): ChildProgram {
  const folder = makeFolder();
  writeFileSync(join(folder, 'master-key'), 'bench');
  const program = startProgram(join(checkout, 'dist/operator/main.js'), {
    NODE_ENV: 'production',
    ...readMemorySettings(),
    KUBECONFIG: cluster.controlPlane.kubeconfig,
    OPERATOR_POD_NAME: 'operator-1',
    OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
    OPERATOR_DOMAIN: 'bench.test',
    OPERATOR_INGRESS_CLASS: 'bench',
    OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
    OPERATOR_GATEWAY_IMAGE: 'berth/berth:bench',
    OPERATOR_SIMULATOR_IMAGE: 'berth/simulator:bench',
    OPERATOR_REDIS_URL: redisURL,
    OPERATOR_MODEL_HUB: 'https://hub.bench.test',
    OPERATOR_STORAGE_URL: front.url,
    OPERATOR_SECRET_PATH: folder,
    OPERATOR_PORT: String(PORT),
    OPERATOR_LOG_LEVEL: 'warn',
  });
  program.process.once('exit', (code) => {
    if (code) throw new Error(`the operator ended:\n${program.output.slice(-2_000)}`);
  });
  return program;
}

/** From a change of the pod template to the changed Deployment. */
async function measureReaction(client: KubeClient, at: ModelName): Promise<number> {
  const started = performance.now();
  const patch = { spec: { template: { labels: { changed: 'yes' } } } };
  await client.mergePatch(BERTH_RESOURCES.ModelDeployment, { at, patch });
  await until(async () => {
    const live = await client.get<Wire<V1Deployment>>(RESOURCES.Deployment, at);
    return live.spec?.template.metadata?.labels?.changed === 'yes';
  }, 10);
  return performance.now() - started;
}

/** From a new ModelDeployment to the last of its children. */
async function measureChildren(client: KubeClient, at: ModelName): Promise<number> {
  const started = performance.now();
  // The front serves those without replicas.
  await createModel(client, at, { replicas: 0 });
  await until(async () => (await client.find(RESOURCES.Ingress, at)) !== undefined, 10);
  return performance.now() - started;
}

/** From a change of the front to the slices that point to it: of the deployments without a pod, which it serves, and of all. */
async function measureFronts(
  client: KubeClient,
): Promise<Pick<OperatorFigures, 'servedFrontsSeconds' | 'allFrontsSeconds'>> {
  const address = '10.1.0.2';
  const started = performance.now();
  const since = () => (performance.now() - started) / 1000;
  await setFront(client, address);
  const isRight = ({ endpoints = [] }: Wire<V1EndpointSlice>) =>
    endpoints.some(({ addresses }) => addresses.includes(address));
  const isServed = ({ endpoints = [] }: Wire<V1EndpointSlice>) =>
    endpoints.some(({ conditions }) => conditions?.ready);
  const areRight = async (isMeant: (slice: Wire<V1EndpointSlice>) => boolean) =>
    (await listFrontSlices(client)).filter(isMeant).every(isRight);
  await until(() => areRight(isServed));
  const servedFrontsSeconds = since();
  await until(() => areRight(() => true), 1_000);
  return { servedFrontsSeconds, allFrontsSeconds: since() };
}

interface Metrics {
  leading: boolean;
  runs: number;
  due: number;
  calls: number;
  writes: number;
}

/** Calls but for the lease's, watches and events. */
async function readMetrics(): Promise<Metrics> {
  const text = await fetch(`http://127.0.0.1:${PORT}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const sum = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((total, [, n]) => total + Number(n), 0);
  const counted = [...text.matchAll(/api_calls_total\{verb="(\w+)",resource="(\w+)",code="\d+"\} (\d+)/g)]
    .map(([, verb, resource, count]) => ({ verb: verb!, resource: resource!, count: Number(count) }))
    .filter(({ verb, resource }) => verb !== 'watch' && resource !== 'leases' && resource !== 'events');
  const total = (calls: typeof counted) => calls.reduce((sum, { count }) => sum + count, 0);
  return {
    leading: sum(/^berth_operator_leader (\d)/gm) === 1,
    runs: sum(/reconciles_total\{controller="modeldeployment",outcome="\w+"\} (\d+)/g),
    due: sum(/berth_operator_queue_depth\{[^}]*\} (\d+)/g),
    calls: total(counted),
    writes: total(counted.filter(({ verb }) => verb !== 'get' && verb !== 'list')),
  };
}

async function hasRunAll(count: number): Promise<boolean> {
  const { leading, runs, due } = await readMetrics();
  return leading && runs >= count && due === 0;
}

/** Nothing was due, and nothing was called, for two seconds. */
async function isIdle(): Promise<boolean> {
  const before = await readMetrics();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const after = await readMetrics();
  return after.leading && after.due === 0 && after.calls === before.calls && after.runs === before.runs;
}

const countConnections = (pid: number, port: string): number =>
  execFileSync('ss', ['-tnp', `( dport = :${port} )`], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(`pid=${pid},`)).length;

async function until(condition: () => Promise<boolean>, everyMs = POLL_MS): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, everyMs));
}
