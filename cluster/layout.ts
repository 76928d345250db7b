/** Names and paths of a cluster, derived from its name. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';

export interface Cluster {
  name: string;
  /** Path of the admin's kubeconfig. */
  kubeconfig: string;
  /** A prefix that runs a command inside the node's network, where ingress hosts and Services resolve. */
  exec: string[];
  nodeIP: string;
  /** Whether there is a second node, which takes no pods until a test uncordons it. */
  hasSpare: boolean;
  /** Whether nothing that runs in it reaches addresses outside. */
  isIsolated: boolean;
  /** Every name under it resolves to the ingress controller. */
  domain: string;
  gpus: number;
  stateFolder: string;
  /** What it was made from: another image, or other settings of kind, need another cluster. */
  recipe: string;
}

export const DEFAULT_NAME = 'berth-test';
export const DEFAULT_DOMAIN = 'berth.test';
/** kind's default; each cluster has networks of its own, so all can use the same addresses. */
export const API_SERVICE_IP = '10.96.0.1';
export const POD_RANGE = '10.244.0.0/16';
export const SERVICE_RANGE = '10.96.0.0/16';
export const DNS_SERVICE_IP = '10.96.0.10';

export const PROJECT_FOLDER = resolve(import.meta.dirname, '..');

/** Name of Docker's container and of Kubernetes' Node. */
export const nodeName = (cluster: string): string => `${cluster}-control-plane`;
export const spareNodeName = (cluster: string): string => `${cluster}-worker`;
export const nodeNames = ({ name, hasSpare }: Pick<Cluster, 'name' | 'hasSpare'>): string[] =>
  hasSpare ? [nodeName(name), spareNodeName(name)] : [nodeName(name)];
export const stateFolder = (name: string): string => join(CACHE_FOLDER, 'cluster', name);
/** The nodes' /var/lib/berth. */
export const dataFolder = (name: string): string => join(stateFolder(name), 'data');
/** A node's /var/lib/containerd, which outlives the cluster. */
export const storeFolder = (name: string, node = nodeName(name)): string =>
  join(stateFolder(name), node === nodeName(name) ? 'containerd' : 'containerd-spare');
/** The nodes' /etc/containerd/certs.d. */
export const mirrorFolder = (name: string): string => join(stateFolder(name), 'mirror');

const recordPath = (name: string): string => join(stateFolder(name), 'cluster.json');

/** The cluster with that name, running or not. Throws if there is none. */
export function readCluster(name = DEFAULT_NAME): Cluster {
  if (!existsSync(recordPath(name))) throw new Error(`there is no cluster ${name}: start it first`);
  return JSON.parse(readFileSync(recordPath(name), 'utf8')) as Cluster;
}

export const hasCluster = (name: string): boolean => existsSync(recordPath(name));

export function writeCluster(cluster: Cluster): void {
  writeFileSync(recordPath(cluster.name), `${JSON.stringify(cluster, null, 2)}\n`);
}

export const forgetCluster = (name: string): void => rmSync(recordPath(name), { force: true });
