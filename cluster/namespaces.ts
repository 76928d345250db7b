/**
 * The cluster's own network and mount namespaces. Its traffic, firewall rules and mounts stay in there, and all of
 * them go when the namespaces do, however the cluster came to its end.
 */
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { runCommand, tryCommand } from './commands.ts';
import { enterCommand, NODE_IP, runFolder, stateFolder } from './layout.ts';

/** Creates both; leftovers of an earlier cluster with that name must have been removed before. */
export async function createNamespaces(name: string): Promise<void> {
  await runCommand(['ip', 'netns', 'add', name]);
  await createMountNamespace(name);
  const inside = (script: string) => runCommand([...enterCommand(name), 'sh', '-ec', script]);
  // A bridge instead of a `dummy` network device, which is not always available.
  await inside(`
    ip link set lo up
    ip link add node0 type bridge
    ip addr add ${NODE_IP}/24 dev node0
    ip link set node0 up
    ip route add default dev node0
    sysctl -qw net.ipv4.ip_forward=1
  `);
  createCgroups(name);
}

async function createMountNamespace(name: string): Promise<void> {
  const run = runFolder(name);
  const state = stateFolder(name);
  mkdirSync(run, { recursive: true });
  // A namespace can be pinned only on a private mount.
  await runCommand(['sh', '-ec', 'mount --bind "$1" "$1"; mount --make-private "$1"', 'sh', run]);
  const handle = join(run, 'mnt');
  writeFileSync(handle, '');
  writeFileSync(join(state, 'resolv.conf'), `nameserver ${NODE_IP}\n`);
  const overlays = { kubelet: '/var/lib/kubelet', pods: '/var/log/pods', containers: '/var/log/containers' };
  const binds = Object.entries(overlays).map(([folder, target]) => {
    mkdirSync(join(state, folder), { recursive: true });
    return `mkdir -p ${target}; mount --bind "$1/${folder}" ${target}`;
  });
  const script = `
    mount --make-rshared /
    mkdir -p /run/netns /run/containerd
    mount -t tmpfs tmpfs /run/netns
    mount -t tmpfs tmpfs /run/containerd
    mount --bind "$1/resolv.conf" /etc/resolv.conf
    ${binds.join('\n')}
  `;
  const unshare = ['unshare', `--mount=${handle}`, '--propagation', 'slave'];
  await runCommand([...unshare, 'sh', '-ec', script, 'sh', state]);
}

/** Removes both with everything mounted in them. Does nothing if they do not exist. */
export async function removeNamespaces(name: string): Promise<void> {
  const run = runFolder(name);
  await tryCommand(['umount', join(run, 'mnt')]);
  await tryCommand(['umount', run]);
  rmSync(run, { recursive: true, force: true });
  if (existsSync(join('/run/netns', name))) await runCommand(['ip', 'netns', 'delete', name]);
  for (const folder of cgroupFolders(name)) removeCgroup(folder);
}

/** Of version 1. */
const SHARES_PER_CORE = 1024;

export const cgroupRoot = (name: string): string => `/berth-${name}`;

/** The kubelet requires the parent of its cgroups to exist: in one hierarchy, or in each of version 1. */
function createCgroups(name: string): void {
  const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');
  if (isUnified) {
    mkdirSync(join('/sys/fs/cgroup', cgroupRoot(name)), { recursive: true });
    writeFileSync('/sys/fs/cgroup/cgroup.subtree_control', '+cpu +memory +pids +cpuset +io');
    return;
  }
  for (const hierarchy of globSync('/sys/fs/cgroup/*/cgroup.procs'))
    if (!hierarchy.includes('/unified/'))
      mkdirSync(join(hierarchy, '..', cgroupRoot(name)), { recursive: true });
  // As much for all pods as the kubelet gives them on a node of its own; the default would be what one process has.
  const shares = join('/sys/fs/cgroup/cpu', cgroupRoot(name), 'cpu.shares');
  if (existsSync(shares)) writeFileSync(shares, String(SHARES_PER_CORE * availableParallelism()));
}

/** The pids of all containers of the cluster. */
export function listContainerProcesses(name: string): number[] {
  const files = cgroupFolders(name).flatMap((folder) => globSync(join(folder, '**', 'cgroup.procs')));
  return [...new Set(files.flatMap(readPids))];
}

const cgroupFolders = (name: string): string[] =>
  globSync(`/sys/fs/cgroup/{,*/}${cgroupRoot(name).slice(1)}`);

function readPids(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function removeCgroup(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
  rmdirSync(folder);
}

/** The pids of containerd's shims of the cluster: they outlive containerd, and hold the mount namespace. */
export function listShims(name: string): number[] {
  const handle = join(runFolder(name), 'mnt');
  if (!existsSync(handle)) return [];
  const namespace = `mnt:[${statSync(handle).ino}]`;
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && isShimIn(entry, namespace))
    .map(Number);
}

function isShimIn(pid: string, namespace: string): boolean {
  try {
    const isShim = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('containerd-shim');
    return isShim && readlinkSync(`/proc/${pid}/ns/mnt`) === namespace;
  } catch {
    return false;
  }
}
