/** A cluster's node, which is a container of Docker: its images, its components and its logs. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../machine/wait-until.ts';
import { ensureBinary } from './binaries.ts';
import { runCommand } from './commands.ts';
import { runDocker } from './docker.ts';
import { readImageId } from './image-build.ts';
import { type Cluster, nodeName, nodeNames, POD_RANGE, SERVICE_RANGE } from './layout.ts';

const MANIFESTS = '/etc/kubernetes/manifests';
/** Where a component waits that is stopped. */
const STOPPED = '/etc/kubernetes/stopped';
/** Run by the node's systemd; the others by its kubelet. */
const UNITS = ['containerd', 'kubelet'];
const STATIC_PODS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const FENCE = 'BERTH-FENCE';
const STOP_TIMEOUT_MS = 30_000;

/** Runs a shell script in the node; resolves with its output. Throws with its errors if it fails. */
export const runInNode = (cluster: string, script: string, node = nodeName(cluster)): Promise<string> =>
  runDocker(['exec', node, 'sh', '-ec', script]);

/** Its own address in kind's network, or the one by which it reaches this machine. */
export const readAddress = async (
  node: string,
  which: 'IPAddress' | 'Gateway' = 'IPAddress',
): Promise<string> => {
  const address = `{{.NetworkSettings.Networks.kind.${which}}}`;
  return (await runDocker(['container', 'inspect', '--format', address, node])).trim();
};

/**
 * Prepares the folder that a node keeps its images in: the mount hides those of the node's own image, so they are copied into
 * it once for each such image.
 */
export async function prepareStore(store: string, nodeImage: string): Promise<void> {
  const stamp = join(store, 'berth-node-image');
  const id = await readImageId(nodeImage);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === id) return;
  rmSync(store, { recursive: true, force: true });
  mkdirSync(store, { recursive: true });
  const copy = ['--entrypoint', 'cp', nodeImage, '-a', '/var/lib/containerd/.', '/to/'];
  await runDocker(['run', '--rm', '--network', 'none', '--volume', `${store}:/to`, ...copy]);
  writeFileSync(stamp, id);
}

/**
 * Keeps traffic inside. What goes to a Service that kube-proxy does not know yet is dropped, so that it is sent again: else it would
 * leave the node, and whoever answers there would keep the connection. With `isIsolated`, nothing else leaves either.
 */
export async function fenceNodes(cluster: Cluster): Promise<void> {
  const { name, nodeIP, isIsolated } = cluster;
  const nodes = nodeIP.replace(/\d+\.\d+$/, '0.0/16');
  // By destination: of what is sent to a Service, the interface is still the one it had before it was sent to a pod.
  const rules = [
    ...['127.0.0.0/8', POD_RANGE, nodes].map((range) => `--destination ${range} --jump RETURN`),
    `--destination ${SERVICE_RANGE} --jump DROP`,
    ...(isIsolated ? ['--jump REJECT'] : []),
  ];
  const commands = [
    // It stands already, unless the node is new or was started again.
    `! iptables --check OUTPUT --jump ${FENCE} 2> /dev/null || exit 0`,
    `iptables --new-chain ${FENCE}`,
    ...rules.map((rule) => `iptables --append ${FENCE} ${rule}`),
    ...['OUTPUT', 'FORWARD'].map((chain) => `iptables --append ${chain} --jump ${FENCE}`),
  ];
  for (const node of nodeNames(cluster)) await runInNode(name, commands.join('\n'), node);
}

/** Loads images into a node, unless the same are there. */
export async function loadIntoNode(
  cluster: string,
  images: string[],
  node = nodeName(cluster),
): Promise<void> {
  const load = ['load', 'docker-image', '--name', cluster, '--nodes', node];
  if (images.length > 0) await runCommand([await ensureBinary('kind'), ...load, ...images]);
}

/** Starts a component that was stopped. Resolves before it serves. Throws if there is none with that name. */
export async function startComponent({ name }: Cluster, component: string): Promise<void> {
  const file = `${component}.yaml`;
  if (isUnit(component)) await runInNode(name, `systemctl start ${component}`);
  else await runInNode(name, `[ ! -e ${STOPPED}/${file} ] || mv ${STOPPED}/${file} ${MANIFESTS}/`);
}

/** Stops a component, a static pod by SIGKILL: gracefully it would take half a minute. Throws if there is none with that name. */
export async function stopComponent({ name }: Cluster, component: string): Promise<void> {
  const file = `${component}.yaml`;
  if (isUnit(component)) {
    await runInNode(name, `systemctl stop ${component}`);
    return;
  }
  await runInNode(name, `mkdir -p ${STOPPED}; mv ${MANIFESTS}/${file} ${STOPPED}/`);
  const kill = `
    for id in $(crictl ps --quiet --name '^${component}$'); do
      ctr --namespace=k8s.io tasks kill --signal SIGKILL "$id" || true
    done
    crictl ps --quiet --name '^${component}$'`;
  await waitUntil(
    async () => (await runInNode(name, kill)).trim() === '',
    `the end of ${component}`,
    STOP_TIMEOUT_MS,
    200,
  );
}

function isUnit(component: string): boolean {
  if (UNITS.includes(component)) return true;
  if (STATIC_PODS.includes(component)) return false;
  throw new Error(`no component ${component}; there are ${[...UNITS, ...STATIC_PODS].join(', ')}`);
}

const PODS = ['traefik', 'deviceplugin', 'coredns', 'kube-proxy'];
/** What `readNodeLog` knows. */
export const NODE_LOGS = [...UNITS, ...STATIC_PODS, ...PODS];
const LOG_LINES = 200;

/** The end of a component's log. */
export const readNodeLog = ({ name }: Cluster, component: string): Promise<string> =>
  runInNode(
    name,
    UNITS.includes(component)
      ? `journalctl --no-pager --lines=${LOG_LINES} --unit=${component}`
      : `tail --quiet --lines=${LOG_LINES} /var/log/containers/${component}*_kube-system_*.log`,
  );

/** SIGKILL to a container's first process. */
export async function killContainer(cluster: string, id: string): Promise<void> {
  await runInNode(cluster, `ctr --namespace=k8s.io tasks kill --signal SIGKILL ${id}`);
}

/** Gives an image of the node another name. */
export async function tagImage(cluster: string, image: string, name: string): Promise<void> {
  await runInNode(cluster, `ctr --namespace=k8s.io images tag --force ${image} ${name}`);
}
