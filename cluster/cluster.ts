/** Starts, changes and stops a real Kubernetes cluster on this machine: kind's, with one node, or two (decision 0359). */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { waitUntil } from '../machine/wait-until.ts';
import { applyAddons } from './addons.ts';
import { clearGoCache, ensureBinary } from './binaries.ts';
import { runCommand, tryCommand } from './commands.ts';
import { ensureDocker, isDockerResponding, releaseDocker, tryDocker } from './docker.ts';
import { requireNamespaces, writeEntry } from './entry.ts';
import { removeLeftovers } from './image-build.ts';
import { pointToMirror } from './image-pull.ts';
import { chooseImageSource } from './image-source.ts';
import { buildImages, devicePluginImage, type Image, traefikImage } from './images.ts';
import { runKubectl, tryKubectl } from './kubectl.ts';
import {
  type Cluster,
  DEFAULT_DOMAIN,
  DEFAULT_NAME,
  dataFolder,
  forgetCluster,
  hasCluster,
  mirrorFolder,
  nodeName,
  nodeNames,
  readCluster,
  spareNodeName,
  stateFolder,
  storeFolder,
  writeCluster,
} from './layout.ts';
import { fenceNodes, loadIntoNode, prepareStore, readAddress } from './node.ts';
import { ensureNodeImage, NODE_IMAGE_PROGRAMS } from './node-image.ts';
import { startProgress } from './progress.ts';
import { connectSpare, reserveSpare } from './spare-node.ts';

export interface ClusterOptions {
  name?: string;
  /** Every name under it resolves, inside the cluster's network, to the ingress controller. */
  domain?: string;
  /** How many `nvidia.com/gpu` the node offers. */
  gpus?: number;
  /** What pods will run: built where it has changed and loaded into the node. */
  images?: Image[];
  /** Those of them that a second node has, too, which takes no pods until a test uncordons it; undefined: there is none. */
  spareImages?: Image[] | undefined;
}

const DEFAULTS = { name: DEFAULT_NAME, domain: DEFAULT_DOMAIN, gpus: 2, images: [] as Image[] };
/** What is built for a cluster. */
export const CLUSTER_PROGRAMS = [...NODE_IMAGE_PROGRAMS, 'kubectl', 'traefik', 'deviceplugin'];
const READY_TIMEOUT_MS = 180_000;
const UNHEALTHY_GPUS = 'unhealthy-gpus';
const KIND_CONFIG = join(import.meta.dirname, 'kind.yaml');

/**
 * Starts a cluster, in some 30 s once everything is built, and resolves when its node is Ready. A running one with that name and
 * these settings is reused; another one is removed first. Throws with the remedy where there is no Docker.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { name, domain, gpus, images, spareImages } = { ...DEFAULTS, ...options };
  const progress = startProgress(6);
  progress.step('looking for Docker');
  await requireNamespaces();
  await ensureDocker();
  progress.step('building images that have changed');
  const nodeImage = await ensureNodeImage();
  const built = await buildImages([devicePluginImage, traefikImage, ...images]);
  clearGoCache();
  await removeLeftovers();
  const recipe = `${nodeImage} ${hashFile(KIND_CONFIG)}`;
  // Where images are built, no pod needs anything of the world outside; where they are pulled, the node does.
  const isIsolated = (await chooseImageSource()) === 'build';
  const settings = { name, domain, gpus, recipe, isIsolated, hasSpare: spareImages !== undefined };
  const load = async () => {
    await loadIntoNode(name, built);
    const ofSpare = built.filter((image) => spareImages?.some(({ name }) => name === image));
    await loadIntoNode(name, ofSpare, spareNodeName(name));
  };
  const running = await findRunning(settings);
  if (running) {
    await pointToMirror(name);
    await fenceNodes(running);
    await load();
    progress.done(`cluster ${name} runs already`);
    return running;
  }
  await removeCluster(name);
  progress.step('creating the node');
  await createNodes(settings, nodeImage);
  const cluster = await describeCluster(settings);
  writeCluster(cluster);
  await pointToMirror(name);
  await fenceNodes(cluster);
  if (cluster.hasSpare) await reserveSpare(cluster);
  progress.step('loading images into the node');
  await load();
  progress.step('adding names, ingress controller, GPUs and volumes');
  await applyAddons(cluster);
  progress.step('waiting for them to be ready');
  await waitForAddons(cluster);
  if (cluster.hasSpare) await connectSpare(cluster);
  progress.done(`cluster ${name} is up`);
  return cluster;
}

/** Stops it and removes it, and Docker if that was started for it. Images stay, for the next start. Does nothing if there is none. */
export async function stopCluster(name = DEFAULT_NAME): Promise<void> {
  // A node goes on where Docker's daemon was killed.
  if (listRemains(name).length > 0) await ensureDocker();
  if (await isDockerResponding()) await removeCluster(name);
  await releaseDocker();
}

/** Resolves when the API server is ready. */
export const waitForServer = (cluster: Cluster): Promise<void> =>
  waitUntil(() => tryKubectl(cluster, ['get', '--raw', '/readyz']), 'kube-apiserver', READY_TIMEOUT_MS);

/** Names the GPUs (`GPU-0`, `GPU-1`, …) that the device plugin reports unhealthy from now on. */
export function setUnhealthyGPUs({ name }: Cluster, ids: string[]): void {
  writeFileSync(join(dataFolder(name), UNHEALTHY_GPUS), `${ids.join('\n')}\n`);
}

type Settings = Pick<Cluster, 'name' | 'domain' | 'gpus' | 'recipe' | 'hasSpare' | 'isIsolated'>;

const hashFile = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);

/** The cluster if it runs with these settings, and responds. */
async function findRunning(wanted: Settings): Promise<Cluster | undefined> {
  if (!hasCluster(wanted.name)) return undefined;
  const running = ['container', 'inspect', '--format', '{{.State.Running}}', ...nodeNames(wanted)];
  const { code, output } = await tryDocker(running);
  if (code !== 0 || output.includes('false')) return undefined;
  const cluster = readCluster(wanted.name);
  const isSame = JSON.stringify(cluster) === JSON.stringify(await describeCluster(wanted));
  return isSame && (await tryKubectl(cluster, ['get', '--raw', '/readyz'])) ? cluster : undefined;
}

async function createNodes({ name, hasSpare }: Settings, image: string): Promise<void> {
  for (const folder of [dataFolder(name), mirrorFolder(name)]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(dataFolder(name), UNHEALTHY_GPUS), '');
  const nodes = nodeNames({ name, hasSpare });
  const stores = nodes.map((node) => storeFolder(name, node));
  for (const store of stores) await prepareStore(store, image);
  const text = readFileSync(KIND_CONFIG, 'utf8')
    .replace('"STORE"', JSON.stringify(stores[0]))
    .replace('"SPARE_STORE"', JSON.stringify(stores[1]))
    .replaceAll('"MIRROR"', JSON.stringify(mirrorFolder(name)))
    .replaceAll('"DATA"', JSON.stringify(dataFolder(name)));
  const config = parse(text) as { nodes: object[] };
  const input = JSON.stringify({ ...config, nodes: config.nodes.slice(0, nodes.length) });
  const create = [
    'create',
    'cluster',
    '--name',
    name,
    '--image',
    image,
    '--kubeconfig',
    kubeconfigPath(name),
  ];
  await runCommand([await ensureBinary('kind'), ...create, '--config', '-'], { input });
}

const kubeconfigPath = (name: string): string => join(stateFolder(name), 'kubeconfig');

/** Describes a node that exists, and writes how it is reached. Its kubeconfig names the node's own address, which this machine and the node reach. */
async function describeCluster(settings: Settings): Promise<Cluster> {
  const { name } = settings;
  const nodeIP = await readAddress(nodeName(name));
  const folder = stateFolder(name);
  const kubeconfig = kubeconfigPath(name);
  writeFileSync(
    kubeconfig,
    readFileSync(kubeconfig, 'utf8').replace(/server: .*/, `server: https://${nodeIP}:6443`),
  );
  const exec = [writeEntry(folder, nodeName(name))];
  return { ...settings, kubeconfig, exec, nodeIP, stateFolder: folder };
}

async function waitForAddons(cluster: Cluster): Promise<void> {
  const { exec, domain, gpus, nodeIP, name } = cluster;
  const timeout = `--timeout=${READY_TIMEOUT_MS / 1000}s`;
  for (const what of ['daemonset/traefik', 'daemonset/deviceplugin', 'deployment/coredns'])
    await runKubectl(cluster, ['-n', 'kube-system', 'rollout', 'status', what, timeout]);
  const allocatable = `jsonpath={.status.allocatable.nvidia\\.com/gpu}=${gpus}`;
  await runKubectl(cluster, ['wait', `--for=${allocatable}`, `node/${nodeName(name)}`, timeout]);
  await waitUntil(
    async () => {
      const { output } = await tryCommand([...exec, 'getent', 'ahostsv4', `any.${domain}`]);
      return output.startsWith(nodeIP);
    },
    'CoreDNS',
    READY_TIMEOUT_MS,
    200,
  );
  await waitUntil(
    () => tryKubectl(cluster, ['get', 'serviceaccount', 'default']),
    'the default service account',
    READY_TIMEOUT_MS,
  );
}

/** What a cluster left besides its images. */
function listRemains(name: string): string[] {
  const folder = stateFolder(name);
  if (!existsSync(folder)) return [];
  const stores = nodeNames({ name, hasSpare: true }).map((node) => storeFolder(name, node));
  return readdirSync(folder)
    .map((entry) => join(folder, entry))
    .filter((path) => !stores.includes(path));
}

/** All of it but its images, with what a killed start left. */
async function removeCluster(name: string): Promise<void> {
  // A start that was interrupted may have left either node.
  const nodes = nodeNames({ name, hasSpare: true });
  const mounts = ['container', 'inspect', '--format', '{{json .Mounts}}'];
  const found = await Promise.all(nodes.map((node) => tryDocker([...mounts, node])));
  const left = found.filter(({ code }) => code === 0);
  if (left.some(({ output }) => !output.includes(stateFolder(name))))
    throw new Error(`kind has a cluster ${name} that was not made here: it is left alone`);
  if (left.length > 0)
    await runCommand([
      await ensureBinary('kind'),
      'delete',
      'cluster',
      '--name',
      name,
      '--kubeconfig',
      kubeconfigPath(name),
    ]);
  forgetCluster(name);
  for (const path of listRemains(name)) rmSync(path, { recursive: true, force: true });
}
