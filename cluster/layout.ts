/** Names and paths of a bundled cluster, derived from its name. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';

export interface Cluster {
  name: string;
  /** Path of the admin's kubeconfig. Its server answers inside the cluster's network namespace only. */
  kubeconfig: string;
  /** A prefix that runs a command inside the cluster's network, where ingress hosts and Services resolve. */
  exec: string[];
  nodeIP: string;
  /** Every name under it resolves to the ingress controller. */
  domain: string;
  gpus: number;
  stateFolder: string;
  /** How it runs: with the components of this folder, or as kind on Docker. */
  provider: 'bundled' | 'kind';
}

export const DEFAULT_NAME = 'berth-test';
export const DEFAULT_DOMAIN = 'berth.test';
/** Each cluster has its own network, so all can use the same addresses. */
export const NODE_IP = '172.30.0.11';
export const NODE_NAME = 'node1';
export const SERVICE_RANGE = '10.96.0.0/16';
export const API_SERVICE_IP = '10.96.0.1';
export const POD_RANGE = '10.244.0.0/16';
export const NODE_POD_RANGE = '10.244.1.0/24';
export const API_URL = `https://${NODE_IP}:6443`;
export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';

export const PROJECT_FOLDER = resolve(import.meta.dirname, '..');

/** Bind mount of the cluster's mount namespace, and what else must live in memory only. */
export const runFolder = (name: string): string => join('/run/berth', name);
export const stateFolder = (name: string): string => join(CACHE_FOLDER, 'cluster', name);

/** The command that enters the cluster's network and mount namespaces. */
export const enterCommand = (name: string): string[] => [
  'nsenter',
  `--net=/run/netns/${name}`,
  `--mount=${join(runFolder(name), 'mnt')}`,
  // Entering a mount namespace loses the working directory.
  'env',
  `--chdir=${PROJECT_FOLDER}`,
];

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
