/** The bundled cluster as a whole: a real one-node Kubernetes without Docker, started and stopped by name. */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../machine/wait-until.ts';
import { ensureBinary, isBinaryReady } from './binaries.ts';
import { writeCertificates } from './certificates.ts';
import { tryCommand } from './commands.ts';
import {
  BASE_COMPONENTS,
  CLUSTER_PROGRAMS,
  COMPONENT_NAMES,
  componentCommand,
  unhealthyFile,
} from './components.ts';
import { importImages, removeContainers, waitForContainerd } from './containerd.ts';

import { type Image, pauseImage, saveImages } from './images.ts';
import { hasKind, importIntoKind, startKind, stopKind } from './kind.ts';
import { runKubectl, tryKubectl } from './kubectl.ts';
import {
  type Cluster,
  DEFAULT_DOMAIN,
  DEFAULT_NAME,
  enterCommand,
  forgetCluster,
  hasCluster,
  NODE_IP,
  NODE_NAME,
  readCluster,
  stateFolder,
  writeCluster,
} from './layout.ts';
import { baseManifests, findGatewayDefinitions } from './manifests.ts';
import { createNamespaces, listContainerProcesses, listShims, removeNamespaces } from './namespaces.ts';
import { writeNodeFiles } from './node-files.ts';
import { ensurePackages } from './packages.ts';
import { isDaemonRunning, listDaemons, startDaemon, stopDaemons } from './processes.ts';
import { startProgress } from './progress.ts';

export interface ClusterOptions {
  name?: string;
  /** Every name under it resolves, inside the cluster's network, to the ingress controller. */
  domain?: string;
  /** How many `nvidia.com/gpu` the node offers. */
  gpus?: number;
  /** What pods will run: built where it has changed and loaded into the node. */
  images?: Image[];
}

const READY_TIMEOUT_MS = 120_000;
/** Kept by `down` for the next `up`: images, which take longest. */
const KEPT_FOLDER = 'containerd';

/**
 * Starts a cluster, in some 30 s once everything is built, and resolves when its node is Ready. A running one with that name and
 * these settings is reused; leftovers of a killed one are removed first. Without root it is a kind cluster, if Docker is available.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  // The bundled one has GPUs and an ingress controller, so it is preferred.
  if (process.getuid?.() !== 0 && (await hasKind())) return startKind({ ...DEFAULTS, ...options });
  const { name, domain, gpus, images } = { ...DEFAULTS, ...options };
  const progress = startProgress(7);
  progress.step('looking for programs');
  ensurePackages();
  for (const program of CLUSTER_PROGRAMS) if (!isBinaryReady(program)) await ensureBinary(program);
  progress.step('building images that have changed');
  const saved = await saveImages([pauseImage, ...images]);

  const cluster = makeRecord(name, domain, gpus);
  if (await isClusterRunning(cluster)) {
    await importImages(cluster, saved);
    progress.done(`cluster ${name} runs already`);
    return cluster;
  }
  progress.step('creating network and certificates');
  await stopCluster(name);
  await prepare(cluster);
  progress.step('starting etcd, kube-apiserver and containerd');
  for (const component of BASE_COMPONENTS) await startComponent(cluster, component);
  await waitForContainerd(cluster);
  progress.step('loading images into the node');
  await removeContainers(cluster);
  await importImages(cluster, saved);
  progress.step('starting the controllers and the node');
  await waitForServer(cluster);
  await applyBase(cluster);
  for (const component of COMPONENT_NAMES) await startComponent(cluster, component);
  progress.step('waiting for the node to be Ready');
  await waitForNode(cluster);
  progress.done(`cluster ${name} is up`);
  return cluster;
}

const DEFAULTS = { name: DEFAULT_NAME, domain: DEFAULT_DOMAIN, gpus: 2, images: [] as Image[] };

/** Stops it and removes its namespaces. Images stay, for the next start. Does nothing if there is none. */
export async function stopCluster(name = DEFAULT_NAME): Promise<void> {
  const folder = stateFolder(name);
  if (hasCluster(name) && readCluster(name).provider === 'kind') {
    await stopKind(name);
  } else {
    const daemons = listDaemons(folder);
    const isBase = (daemon: string) => BASE_COMPONENTS.includes(daemon);
    await stopDaemons(
      folder,
      daemons.filter((daemon) => !isBase(daemon)),
    );
    if (isDaemonRunning(folder, 'containerd')) await removeContainers(readCluster(name));
    await stopDaemons(folder, daemons.filter(isBase));
    await killLeftovers(name);
    await removeNamespaces(name);
  }
  forgetCluster(name);
  removeState(folder);
}

/** Builds what has changed and loads it into the node. */
export async function loadImages(cluster: Cluster, images: Image[]): Promise<void> {
  if (cluster.provider === 'kind') await importIntoKind(cluster.name, images);
  else await importImages(cluster, await saveImages(images));
}

/** Restarts one component unchanged. Resolves when the process exists; `waitForServer` waits for more. */
export async function startComponent(cluster: Cluster, component: string): Promise<void> {
  startDaemon(cluster.stateFolder, await componentCommand(cluster, component));
}

/** Stops one component: SIGTERM, then SIGKILL after 5 s. */
export async function stopComponent(cluster: Cluster, component: string): Promise<void> {
  await stopDaemons(cluster.stateFolder, [component]);
}

export const isComponentRunning = (cluster: Cluster, component: string): boolean =>
  isDaemonRunning(cluster.stateFolder, component);

/**
 * Serves the cluster's ingress (or another `host:port` of its network) on a port of this machine's 127.0.0.1, until
 * the cluster is stopped.
 */
export function startRelay(cluster: Cluster, port: number, target = `${cluster.nodeIP}:80`): void {
  const connect = [...cluster.exec, 'socat', '-', `TCP:${target}`].join(' ').replaceAll(':', '\\:');
  const argv = ['socat', `TCP-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr`, `EXEC:${connect}`];
  startDaemon(cluster.stateFolder, { name: `relay-${port}`, argv });
}

/** Resolves when the API server is ready. */
export const waitForServer = (cluster: Cluster): Promise<void> =>
  waitUntil(() => tryKubectl(cluster, ['get', '--raw', '/readyz']), 'kube-apiserver', READY_TIMEOUT_MS);

/** Names the GPUs (`GPU-0`, `GPU-1`, …) that the device plugin reports unhealthy from now on. */
export function setUnhealthyGPUs(cluster: Cluster, ids: string[]): void {
  writeFileSync(unhealthyFile(cluster.stateFolder), `${ids.join('\n')}\n`);
}

const makeRecord = (name: string, domain: string, gpus: number): Cluster => ({
  name,
  kubeconfig: join(stateFolder(name), 'kubeconfigs', 'admin'),
  exec: enterCommand(name),
  nodeIP: NODE_IP,
  domain,
  gpus,
  stateFolder: stateFolder(name),
  provider: 'bundled',
});

/** Whether it runs with the same settings, and responds. */
async function isClusterRunning(wanted: Cluster): Promise<boolean> {
  if (!hasCluster(wanted.name)) return false;
  const isSame = JSON.stringify(readCluster(wanted.name)) === JSON.stringify(wanted);
  const isComplete = COMPONENT_NAMES.every((component) => isComponentRunning(wanted, component));
  return isSame && isComplete && (await tryKubectl(wanted, ['get', '--raw', '/readyz']));
}

async function prepare(cluster: Cluster): Promise<void> {
  const folder = cluster.stateFolder;
  for (const part of ['pki', 'kubeconfigs', KEPT_FOLDER]) mkdirSync(join(folder, part), { recursive: true });
  await createNamespaces(cluster.name);
  await writeCertificates(folder);
  writeNodeFiles({ name: cluster.name, folder, domain: cluster.domain });
  writeCluster(cluster);
}

async function applyBase(cluster: Cluster): Promise<void> {
  const apply = ['apply', '--server-side', '-f'];
  await runKubectl(cluster, [...apply, await findGatewayDefinitions()]);
  await runKubectl(cluster, [...apply, '-'], JSON.stringify(baseManifests(cluster.stateFolder)));
}

async function waitForNode(cluster: Cluster): Promise<void> {
  const { exec, domain, gpus } = cluster;
  const timeout = `--timeout=${READY_TIMEOUT_MS / 1000}s`;
  const waitFor = (condition: string, object: string) =>
    runKubectl(cluster, ['wait', `--for=${condition}`, object, timeout]);
  await waitUntil(() => tryKubectl(cluster, ['get', 'node', NODE_NAME]), 'the node', READY_TIMEOUT_MS);
  await waitFor('condition=Ready', `node/${NODE_NAME}`);
  await waitFor(`jsonpath={.status.allocatable.nvidia\\.com/gpu}=${gpus}`, `node/${NODE_NAME}`);
  await waitUntil(
    async () => {
      const { output } = await tryCommand([...exec, 'getent', 'ahostsv4', `any.${domain}`]);
      return output.startsWith(NODE_IP);
    },
    'CoreDNS',
    READY_TIMEOUT_MS,
  );
  await waitUntil(
    async () => {
      const { code } = await tryCommand([...exec, 'bash', '-c', `: </dev/tcp/${NODE_IP}/80`]);
      return code === 0;
    },
    'Traefik',
    READY_TIMEOUT_MS,
  );
  await waitUntil(
    () => tryKubectl(cluster, ['get', 'serviceaccount', 'default']),
    'the default service account',
    READY_TIMEOUT_MS,
  );
}

/** Leftovers of a killed cluster: containers, and their shims. */
async function killLeftovers(name: string): Promise<void> {
  await waitUntil(
    () => {
      const pids = [...listContainerProcesses(name), ...listShims(name)];
      for (const pid of pids)
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has just exited.
        }
      return pids.length === 0;
    },
    `the end of the containers of ${name}`,
    20_000,
  );
}

function removeState(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder).filter((name) => name !== KEPT_FOLDER))
    rmSync(join(folder, entry), { recursive: true, force: true });
}
