/**
 * Nodes that kwok plays, with Kubernetes' own controllers and scheduler, for thousands of pods on one machine: what a
 * Deployment asks for is scheduled by resources and reported as running, but nothing is run.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Node } from '@kubernetes/client-node';
import { parseAllDocuments, stringify } from 'yaml';
import { ensureBinary } from '../../cluster/binaries.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { hasEnded, killProcess, startProcess } from './child-processes.ts';
import type { ControlPlane } from './control-plane.ts';
import { listControllers } from './kubernetes-controllers.ts';
import { pollUntil } from './poll.ts';

export interface FakeNodesOptions {
  nodes: number;
  /** Capacity of each node; by default for 110 pods with a GPU each, as a kubelet reports it. */
  allocatable?: Record<string, string>;
  /** From a pod's scheduling to its being ready; 0 by default. */
  startMs?: number;
  /** Further controllers of kube-controller-manager. */
  controllers?: string[];
}

export interface FakeNodes {
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 120_000;
const ALLOCATABLE = { cpu: '10k', memory: '100Ti', pods: '110', 'nvidia.com/gpu': '110' };
/** As GPU feature discovery writes them. */
const LABELS = { 'nvidia.com/gpu.memory': '81559', 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' };
const NODE_CONTROLLERS = ['node-lifecycle-controller', 'taint-eviction-controller'];
/** kwok renews leases after a quarter of their time, and late on a busy machine. */
const NODE_LEASE_SECONDS = 120;
const NODE_GRACE = '10m';

/** Resolves when every node takes pods. */
export async function startFakeNodes(
  { kubeconfig }: ControlPlane,
  client: KubeClient,
  { nodes, allocatable = ALLOCATABLE, startMs = 0, controllers = [] }: FakeNodesOptions,
): Promise<FakeNodes> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-fake-nodes-'));
  const processes: ChildProcess[] = [];
  const killAll = () => {
    for (const child of processes) child.kill('SIGKILL');
  };
  process.once('exit', killAll);
  const close = async () => {
    process.off('exit', killAll);
    await Promise.all(processes.map(killProcess));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const [name, args] of Object.entries(listPrograms({ kubeconfig, folder, startMs, controllers })))
      processes.push(
        startProcess(await ensureBinary(name), [name, ...args], { logPath: join(folder, `${name}.log`) }),
      );
    for (let index = 0; index < nodes; index++)
      await client.create(RESOURCES.Node, describeNode(`node-${index}`, allocatable));
    await pollUntil(
      async () => {
        if (processes.some(hasEnded)) throw new Error('a program of the fake nodes ended');
        const { items } = await client.list<Wire<V1Node>>(RESOURCES.Node);
        return items.every(takesPods);
      },
      `${nodes} fake nodes`,
      READY_TIMEOUT_MS,
    );
  } catch (error) {
    const logs = readLogs(folder);
    await close();
    throw new Error(`${(error as Error).message}\n${logs}`, { cause: error });
  }
  return { close };
}

function listPrograms({
  kubeconfig,
  folder,
  startMs,
  controllers,
}: Record<'kubeconfig' | 'folder', string> &
  Required<Pick<FakeNodesOptions, 'startMs' | 'controllers'>>): Record<string, string[]> {
  const programs = listControllers({
    kubeconfig,
    folder,
    controllers: [...NODE_CONTROLLERS, ...controllers],
  });
  return {
    'kube-controller-manager': [
      ...programs['kube-controller-manager'],
      `--node-monitor-grace-period=${NODE_GRACE}`,
    ],
    'kube-scheduler': programs['kube-scheduler'],
    kwok: [
      `--kubeconfig=${kubeconfig}`,
      `--config=${writeStages(folder, startMs)}`,
      '--manage-all-nodes=true',
      // Without leases nodes have no heartbeats, and are lost after the grace period.
      `--node-lease-duration-seconds=${NODE_LEASE_SECONDS}`,
      '--cidr=10.128.0.0/12',
      '--node-port=0',
    ],
  };
}

function writeStages(folder: string, startMs: number): string {
  const text = readFileSync(join(import.meta.dirname, 'kwok-stages.yaml'), 'utf8');
  return writeFile(
    folder,
    'kwok.yaml',
    ...parseAllDocuments(text).map((document) => {
      const stage = document.toJS();
      if (stage.spec.delay) stage.spec.delay.durationMilliseconds = startMs;
      return stage;
    }),
  );
}

function writeFile(folder: string, name: string, ...documents: object[]): string {
  const path = join(folder, name);
  writeFileSync(path, documents.map((document) => stringify(document)).join('---\n'));
  return path;
}

const describeNode = (
  name: string,
  allocatable: Record<string, string>,
): KubeObject & Pick<V1Node, 'status'> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...LABELS } },
  status: { allocatable, capacity: allocatable },
});

const takesPods = ({ spec, status }: Wire<V1Node>): boolean =>
  !spec?.taints?.length &&
  (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');

const readLogs = (folder: string): string =>
  ['kube-controller-manager', 'kube-scheduler', 'kwok']
    .map(
      (name) =>
        `${name}:\n${readFileSync(join(folder, `${name}.log`), 'utf8')
          .trimEnd()
          .split('\n')
          .slice(-5)
          .join('\n')}`,
    )
    .join('\n');
