/** A second node, for tests that take one away: without pods until one uncordons it, and without GPUs. */
import { waitUntil } from '../machine/wait-until.ts';
import { runDocker } from './docker.ts';
import { runKubectl } from './kubectl.ts';
import { type Cluster, nodeName, nodeNames, spareNodeName } from './layout.ts';
import { fenceNodes, readAddress, runInNode } from './node.ts';

const CONTROL_PLANE_TAINT = 'node-role.kubernetes.io/control-plane:NoSchedule-';
const READY_TIMEOUT_MS = 120_000;

/** Keeps pods from it. kind keeps them from the first node, too, where there is another one. */
export async function reserveSpare(cluster: Cluster): Promise<void> {
  await runKubectl(cluster, ['cordon', spareNodeName(cluster.name)]);
  await runKubectl(cluster, ['taint', 'nodes', nodeName(cluster.name), CONTROL_PLANE_TAINT]);
}

/** Resolves once it is Ready, and pods of each node reach those of the other. */
export async function connectSpare(cluster: Cluster): Promise<void> {
  const node = spareNodeName(cluster.name);
  const timeout = `--timeout=${READY_TIMEOUT_MS / 1000}s`;
  await addRoutes(cluster);
  await runKubectl(cluster, ['wait', '--for=condition=Ready', `node/${node}`, timeout]);
}

/** Takes its power away. Its network goes first: the kernel would close the connections of programs that end. */
export async function killSpare({ name }: Cluster): Promise<void> {
  const node = spareNodeName(name);
  await runInNode(name, 'ip link set eth0 down', node);
  await runDocker(['stop', '--time', '0', node]);
}

/** Resolves once it is Ready again, and reached as before. */
export async function restartSpare(cluster: Cluster): Promise<void> {
  const node = spareNodeName(cluster.name);
  const lease = ['-n', 'kube-node-lease', 'get', 'lease', node, '-o', 'jsonpath={.spec.renewTime}'];
  const renewedAt = await runKubectl(cluster, lease);
  await runDocker(['start', node]);
  await waitUntil(
    async () => (await runKubectl(cluster, lease)) !== renewedAt,
    `the kubelet of ${node}`,
    READY_TIMEOUT_MS,
    200,
  );
  await fenceNodes(cluster);
  await connectSpare(cluster);
}

/** Leads to each node what is for its pods, as kindnet does. A node that was started again may have another address. */
async function addRoutes(cluster: Cluster): Promise<void> {
  const nodes = nodeNames(cluster);
  for (const to of nodes) {
    const range = await readPodRange(cluster, to);
    const address = await readAddress(to);
    for (const from of nodes)
      if (from !== to) await runInNode(cluster.name, `ip route replace ${range} via ${address}`, from);
  }
}

/** The controller manager gives it one soon after the node was made. */
async function readPodRange(cluster: Cluster, node: string): Promise<string> {
  let range = '';
  await waitUntil(
    async () => {
      range = await runKubectl(cluster, ['get', 'node', node, '-o', 'jsonpath={.spec.podCIDR}']);
      return range !== '';
    },
    `the addresses of ${node}'s pods`,
    READY_TIMEOUT_MS,
    200,
  );
  return range;
}
