/**
 * The image of a cluster's nodes: the one that kind's release names, or one that `kind build node-image` makes here of Go modules and
 * Debian packages.
 */
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBinary, findModule } from './binaries.ts';
import { runCommand } from './commands.ts';
import { runDocker, tryDocker } from './docker.ts';
import { hashPrograms, KUBERNETES_VERSION } from './go-modules.ts';
import { buildDockerfile, copyPrograms, withFolder } from './image-build.ts';
import { chooseImageSource } from './image-source.ts';
import { buildImages, debianImage } from './images.ts';

/** Of the release notes of kind 0.33. */
const PUBLISHED =
  'docker.io/kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5';
const FOLDER = join(import.meta.dirname, 'node-image');
const BUILT = 'localhost/berth-node';
const PROGRAMS = [
  'kubelet',
  'etcd',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'crictl',
  'pause',
  'kind',
];
/** Of kubenode, which is all of them. */
const NODE_PROGRAMS = ['kubeadm', 'kubelet', 'kubectl'];
/** A manifest must have an object. */
const NOTHING = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'nothing', namespace: 'kube-system' },
};

/** Resolves with the name of an image that Docker has, or can pull. */
export async function ensureNodeImage(): Promise<string> {
  if ((await chooseImageSource()) === 'pull') return PUBLISHED;
  const key = readKey();
  const name = `${BUILT}:${KUBERNETES_VERSION}-${key}`;
  if ((await tryDocker(['image', 'inspect', name])).code === 0) return name;
  console.error('building the image of the nodes (about 5 min the first time, cached afterwards)…');
  await buildImages([debianImage('bookworm')]);
  await buildBase(key);
  await withFolder(async (folder) => {
    const server = await packServer(folder, key);
    const kind = [await ensureBinary('kind'), 'build', 'node-image', '--type', 'file', server];
    await runCommand([...kind, '--base-image', `${BUILT}-base:latest`, '--image', `${BUILT}-built`]);
    writeFileSync(join(folder, 'nothing.yaml'), JSON.stringify(NOTHING));
    await buildDockerfile({ name, dockerfile: join(FOLDER, 'node.Dockerfile'), context: folder, key });
  });
  return name;
}

function readKey(): string {
  const hash = createHash('sha256').update(hashPrograms(PROGRAMS));
  for (const file of globSync('*', { cwd: FOLDER }).sort()) hash.update(readFileSync(join(FOLDER, file)));
  return hash.digest('hex').slice(0, 12);
}

/** What is below Kubernetes. */
async function buildBase(key: string): Promise<void> {
  const context = join(await findModule('kind'), 'images', 'base');
  await buildDockerfile({
    name: `${BUILT}-os`,
    dockerfile: join(context, 'Dockerfile'),
    context,
    key,
    target: 'base',
    variables: { BASE_IMAGE: debianImage('bookworm').name },
  });
  await withFolder(async (folder) => {
    const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'crictl'];
    await copyPrograms(folder, await findPrograms(programs));
    await copyPrograms(folder, { kubenode: await ensureBinary('kubelet') });
    for (const file of ['pod-network.sh', 'pod-network.service'])
      cpSync(join(FOLDER, file), join(folder, file));
    await buildDockerfile({
      name: `${BUILT}-base:latest`,
      dockerfile: join(FOLDER, 'base.Dockerfile'),
      context: folder,
      key,
    });
  });
}

async function findPrograms(names: string[]): Promise<Record<string, string>> {
  const paths: Record<string, string> = {};
  for (const name of names) paths[name] = await ensureBinary(name);
  return paths;
}

/**
 * An archive in the form of a release of Kubernetes. kind pulls the images that its four archives lack; so these have all
 * others, too. Resolves with its path.
 */
async function packServer(folder: string, key: string): Promise<string> {
  const programs = join(folder, 'kubernetes', 'server', 'bin');
  mkdirSync(programs, { recursive: true });
  for (const name of NODE_PROGRAMS)
    writeFileSync(join(programs, name), `#!/bin/sh\nexec /usr/bin/kubenode ${name} "$@"\n`);
  writeFileSync(join(folder, 'kubernetes', 'version'), `${KUBERNETES_VERSION}\n`);

  const { components, pause, unused } = await listNames();
  const [components1 = '', pause1 = ''] = [components[0], pause];
  await buildFrom('components', components1, key, { kubenode: 'kubelet', addons: 'etcd' });
  await buildFrom('pause', pause1, key, { pause: 'pause' });
  for (const name of components) await runDocker(['tag', components1, name]);
  await runDocker(['save', '--output', join(programs, 'kube-apiserver.tar'), ...components]);
  await runDocker(['save', '--output', join(programs, 'kube-scheduler.tar'), pause]);
  // kind looks for the full names, and `docker save` would shorten those of Docker Hub.
  const renamed = join(programs, 'kube-proxy.tar');
  await renameArchive(join(programs, 'kube-scheduler.tar'), renamed, unused);
  cpSync(renamed, join(programs, 'kube-controller-manager.tar'));
  for (const name of [...components, pause]) await tryDocker(['rmi', name]);

  const server = join(folder, 'server.tar.gz');
  await runCommand(['tar', '-C', folder, '--use-compress-program=gzip -1', '-cf', server, 'kubernetes']);
  return server;
}

async function buildFrom(
  file: string,
  name: string,
  key: string,
  programs: Record<string, string>,
): Promise<void> {
  await withFolder(async (context) => {
    for (const [copy, program] of Object.entries(programs))
      await copyPrograms(context, { [copy]: await ensureBinary(program) });
    await buildDockerfile({ name, dockerfile: join(FOLDER, `${file}.Dockerfile`), context, key });
  });
}

/** The names under which kubeadm and kind look for images. */
async function listNames(): Promise<{ components: string[]; pause: string; unused: string[] }> {
  const list = ['config', 'images', 'list', '--kubernetes-version', KUBERNETES_VERSION];
  const required = (await runCommand([await ensureBinary('kubeadm'), ...list])).trim().split('\n');
  const source = await findModule('kind');
  const read = (...path: string[]) => readFileSync(join(source, ...path), 'utf8');
  const nodeimage = ['pkg', 'build', 'nodeimage'];
  const constants = `${read(...nodeimage, 'const_cni.go')}${read(...nodeimage, 'const_storage.go')}`;
  const config = read('images', 'base', 'files', 'etc', 'containerd', 'config.toml');
  return {
    components: required.filter((name) => !name.includes('/pause:')),
    pause: /^\s*sandbox_image = "(.+)"$/m.exec(config)![1]!,
    unused: [...constants.matchAll(/"(docker\.io\/kindest\/[^"]+)"/g)].map(([, name]) => name!),
  };
}

async function renameArchive(from: string, to: string, names: string[]): Promise<void> {
  await withFolder(async (folder) => {
    await runCommand(['tar', '-C', folder, '-xf', from]);
    const path = join(folder, 'manifest.json');
    const [image] = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify([{ ...image, RepoTags: names }]));
    await runCommand(['tar', '-C', folder, '-cf', to, ...readdirSync(folder)]);
  });
}
