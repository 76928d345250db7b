/** A kind cluster for users without root but with Docker: bare, without GPUs or an ingress controller. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../machine/system-package.ts';
import { runCommand, tryCommand } from './commands.ts';
import type { Image } from './images.ts';
import { type Cluster, PROJECT_FOLDER, stateFolder, writeCluster } from './layout.ts';

interface KindOptions {
  name: string;
  domain: string;
  gpus: number;
  images: Image[];
}

/** Whether kind is installed and Docker is available. */
export async function hasKind(): Promise<boolean> {
  if (!findProgram('docker') || !findProgram('kind')) return false;
  const { code } = await tryCommand(['docker', 'info']);
  return code === 0;
}

/** Creates a cluster from `kind.yaml` and loads the images into it. */
export async function startKind({ name, domain, images }: KindOptions): Promise<Cluster> {
  const folder = stateFolder(name);
  mkdirSync(folder, { recursive: true });
  const kubeconfig = join(folder, 'kubeconfig');
  const known = (await runCommand(['kind', 'get', 'clusters'])).split('\n');
  const settings = ['--name', name, '--kubeconfig', kubeconfig];
  if (known.includes(name)) await runCommand(['kind', 'export', 'kubeconfig', ...settings]);
  else
    await runCommand([
      'kind',
      'create',
      'cluster',
      ...settings,
      '--config',
      join(import.meta.dirname, 'kind.yaml'),
      '--wait',
      '120s',
    ]);
  await importIntoKind(name, images);
  const address = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const nodeIP = await runCommand(['docker', 'inspect', '--format', address, `${name}-control-plane`]);
  const cluster: Cluster = {
    name,
    kubeconfig,
    exec: [],
    nodeIP: nodeIP.trim(),
    domain,
    gpus: 0,
    stateFolder: folder,
    provider: 'kind',
  };
  writeCluster(cluster);
  return cluster;
}

/** Builds with Docker what has a Dockerfile of the project, and loads it. */
export async function importIntoKind(name: string, images: Image[]): Promise<void> {
  for (const image of images) {
    if (image.dockerfile)
      await runCommand(['docker', 'build', '--file', image.dockerfile, '--tag', image.name, PROJECT_FOLDER]);
    else await runCommand(['docker', 'pull', image.name]);
    await runCommand(['kind', 'load', 'docker-image', image.name, '--name', name]);
  }
}

export async function stopKind(name: string): Promise<void> {
  await runCommand(['kind', 'delete', 'cluster', '--name', name]);
}
