/** The operator at scale, on a real API server and a real Redis: what a restart, a change, and doing nothing cost. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Deployment, V1EndpointSlice } from '@kubernetes/client-node';
import type { KubeClient } from '../../kube/client.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/cluster-view.ts';
import { type ChildProgram, startProgram } from '../support/child-program.ts';
import { startRedis } from '../support/redis-server.ts';
import { makeFolder } from './folders.ts';
import {
  type BenchCluster,
  createModel,
  createModels,
  FRONT_SERVICE,
  inParallel,
  listFrontSlices,
  listModels,
  type ModelName,
  runPod,
  SYSTEM_NAMESPACE,
  setFront,
  startBenchCluster,
} from './operator-state.ts';
import { readCPU, readMemory, readPeakMemory } from './pinned-process.ts';
import { atMost, formatRows, type Goal, median } from './report.ts';

const MODELS = Number(process.env.MODELS ?? 1_000);
const IDLE_SECONDS = Number(process.env.IDLE_SECONDS ?? 60);
const APPLIES = 20;
const PORT = 19_210;
const POLL_MS = 200;

export interface OperatorFigures {
  models: number;
  restartSeconds: number;
  restartCPUSeconds: number;
  restartCalls: number;
  restartWrites: number;
  reactionMs: number;
  residentMiB: number;
  peakMiB: number;
  idleCPUPercent: number;
  idleCalls: number;
  idleWrites: number;
  childrenP50Ms: number;
  /** From a change of the fronts to the slices of deployments that they serve, and of all. */
  servedFrontsSeconds: number;
  allFrontsSeconds: number;
  connections: number;
}

/** Fills a cluster by the operator itself, then measures a second one on it. */
export async function measureOperator(): Promise<OperatorFigures> {
  const redis = await startRedis();
  const cluster = await startBenchCluster();
  const models = listModels(MODELS);
  try {
    const first = startOperator(cluster, redis.url);
    console.log(`creating ${MODELS} deployments, which takes a while…`);
    await createModels(cluster.client, models);
    await until(() => hasRunAll(models.length));
    console.log('running their pods…');
    await inParallel(models, (model) => runPod(cluster.client, model));
    await until(isIdle);
    await first.stop();
    console.log('restarting the operator…');
    return await measureRestarted(cluster, redis.url, models);
  } finally {
    await cluster.close();
    await redis.stop();
  }
}

async function measureRestarted(
  cluster: BenchCluster,
  redisURL: string,
  models: ModelName[],
): Promise<OperatorFigures> {
  const started = performance.now();
  const operator = startOperator(cluster, redisURL);
  try {
    await until(async () => (await readMetrics()).runs > 0);
    // The last of the list, which waits longest at a start.
    const reactionMs = await measureReaction(cluster.client, models.at(-1)!);
    await until(() => hasRunAll(models.length));
    const restartSeconds = (performance.now() - started) / 1000;
    const restarted = await readMetrics();
    const restartCPUSeconds = readCPU(operator.process.pid!);
    const childrenMs: number[] = [];
    for (let index = 0; index < APPLIES; index++)
      childrenMs.push(await measureChildren(cluster.client, { ...models[0]!, name: `applied-${index}` }));
    await until(isIdle);
    const pid = operator.process.pid!;
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
      // What the change asked for: the Deployment, its status, the front's slice.
      restartWrites: restarted.writes,
      reactionMs,
      residentMiB,
      peakMiB: readPeakMemory(pid),
      idleCPUPercent,
      idleCalls: after.calls - before.calls,
      idleWrites: after.writes - before.writes,
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

function startOperator({ controlPlane }: BenchCluster, redisURL: string): ChildProgram {
  const folder = makeFolder();
  writeFileSync(join(folder, 'master-key'), 'bench');
  const program = startProgram('dist/operator/main.js', {
    NODE_ENV: 'production',
    ...readMemorySettings(),
    KUBECONFIG: controlPlane.kubeconfig,
    OPERATOR_POD_NAME: 'operator-1',
    OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
    OPERATOR_DOMAIN: 'bench.test',
    OPERATOR_INGRESS_CLASS: 'bench',
    OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
    OPERATOR_GATEWAY_IMAGE: 'berth/berth:bench',
    OPERATOR_REDIS_URL: redisURL,
    OPERATOR_SECRET_PATH: folder,
    OPERATOR_PORT: String(PORT),
    OPERATOR_LOG_LEVEL: 'warn',
  });
  program.process.once('exit', (code) => {
    if (code) throw new Error(`the operator ended:\n${program.output.slice(-2_000)}`);
  });
  return program;
}

/** From a change of what the pods are made of to the Deployment that has it. */
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
  await createModel(client, at);
  await until(async () => (await client.find(RESOURCES.Ingress, at)) !== undefined, 10);
  return performance.now() - started;
}

/** From another front to the slices that lead there: of the deployments without a pod, which it serves, and of all. */
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

/** Nothing was due and nothing was called for two seconds. */
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

export function formatOperator(figures: OperatorFigures): string {
  const rows: [string, number, number][] = [
    ['deployments', figures.models, 0],
    ['restart to all reconciled, s', figures.restartSeconds, 1],
    ['calls to the API server in that', figures.restartCalls, 0],
    ['of them writes, a change included', figures.restartWrites, 0],
    ['a change meanwhile: to its Deployment, ms', figures.reactionMs, 0],
    ['memory, MiB', figures.residentMiB, 0],
    ['memory at its peak, MiB', figures.peakMiB, 0],
    ['CPU of a restart, s', figures.restartCPUSeconds, 1],
    ['CPU at rest, % of a core', figures.idleCPUPercent, 2],
    [`calls at rest in ${IDLE_SECONDS} s`, figures.idleCalls, 0],
    ['of them writes', figures.idleWrites, 0],
    ['a new deployment: to its last child p50, ms', figures.childrenP50Ms, 0],
    ['another front: to the slices that it serves, s', figures.servedFrontsSeconds, 1],
    ['another front: to all slices, s', figures.allFrontsSeconds, 1],
    ['connections to the API server', figures.connections, 0],
  ];
  return formatRows([
    ['the operator', ''],
    ...rows.map(([label, value, digits]) => [label, value.toFixed(digits)]),
  ]);
}

export const listOperatorGoals = (figures: OperatorFigures): Goal[] => [
  atMost('restart to all reconciled, s', figures.restartSeconds, 60),
  atMost('memory at its peak, MiB', figures.peakMiB, 400),
  atMost('a change during the restart, ms', figures.reactionMs, 1_000),
  atMost('writes at rest', figures.idleWrites, 0),
  atMost('CPU at rest, % of a core', figures.idleCPUPercent, 1),
  atMost('a new deployment: to its last child p50, ms', figures.childrenP50Ms, 150),
];
