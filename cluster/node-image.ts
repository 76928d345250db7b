/**
 * The image of a cluster's nodes: the one that kind's release names, or one that `kind build node-image` makes here of Go modules and
 * Debian packages.
 */
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBinary, ensureBuilt, findModule } from './binaries.ts';
import { runCommand } from './commands.ts';
import { runDocker, tryDocker } from './docker.ts';
import { hashPrograms, KUBERNETES_VERSION } from './go-modules.ts';
import { buildDockerfile, copyPrograms, listBuiltImages, lockBuilds, withFolder } from './image-build.ts';
import { ensurePulled } from './image-pull.ts';
import { chooseImageSource } from './image-source.ts';
import { debianImage, ensureImage } from './images.ts';

/** From the release notes of kind 0.33. */
const PUBLISHED =
  'docker.io/kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5';
const FOLDER = join(import.meta.dirname, 'node-image');
const BUILT = 'localhost/berth-node';
const RUNTIME_PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'crictl'];
/** What it is built from, and with. */
export const NODE_IMAGE_PROGRAMS = ['kubelet', 'etcd', ...RUNTIME_PROGRAMS, 'pause', 'kind'];
/** All programs of kubenode. */
const NODE_PROGRAMS = ['kubeadm', 'kubelet', 'kubectl'];
/** Resolves with the name of an image that Docker has. NODE_IMAGE names another one to pull. */
export async function ensureNodeImage(): Promise<string> {
  const { NODE_IMAGE } = process.env;
  if ((await chooseImageSource()) === 'pull') return ensurePulled(NODE_IMAGE || PUBLISHED);
  if (NODE_IMAGE)
    throw new Error('NODE_IMAGE names an image to pull, and images are built here: set IMAGES=pull');
  return lockBuilds(buildNodeImage);
}

async function buildNodeImage(): Promise<string> {
  const key = readKey();
  const name = `${BUILT}:${KUBERNETES_VERSION}-${key}`;
  if ((await tryDocker(['image', 'inspect', name])).code === 0) return name;
  console.error('building the image of the nodes (about 5 min the first time, cached afterwards)…');
  await ensureImage(debianImage('bookworm'));
  await buildBase(key);
  await withFolder(async (folder) => {
    const server = await packServer(folder, key);
    // Its own sources name the images that it looks for.
    const kind = [await ensureBuilt('kind'), 'build', 'node-image', '--type', 'file', server];
    await runCommand([...kind, '--base-image', `${BUILT}-base:latest`, '--image', `${BUILT}-built`]);
  });
  await buildDockerfile({ name, dockerfile: join(FOLDER, 'node.Dockerfile'), context: FOLDER, key });
  // Earlier ones, and the parts of this one.
  const others = (await listBuiltImages()).filter((image) => image.startsWith(BUILT) && image !== name);
  for (const image of others) await tryDocker(['rmi', image]);
  return name;
}

function readKey(): string {
  const hash = createHash('sha256').update(hashPrograms(NODE_IMAGE_PROGRAMS));
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
    await copyPrograms(folder, {
      ...Object.fromEntries(RUNTIME_PROGRAMS.map((name) => [name, name])),
      kubenode: 'kubelet',
    });
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

  const names = await listNames();
  const archive = (component: string) => join(programs, `${component}.tar`);
  await buildFrom('components', key, { kubenode: 'kubelet', addons: 'etcd' });
  await saveAs('components', names.components, archive('kube-apiserver'));
  await buildFrom('pause', key, { pause: 'pause' });
  await saveAs('pause', names.pause, archive('kube-scheduler'));
  for (const other of ['kube-proxy', 'kube-controller-manager'])
    cpSync(archive('kube-scheduler'), archive(other));

  const server = join(folder, 'server.tar.gz');
  await runCommand(['tar', '-C', folder, '--use-compress-program=gzip -1', '-cf', server, 'kubernetes']);
  return server;
}

async function buildFrom(file: string, key: string, programs: Record<string, string>): Promise<void> {
  await withFolder(async (context) => {
    await copyPrograms(context, programs);
    const dockerfile = join(FOLDER, `${file}.Dockerfile`);
    await buildDockerfile({ name: `${BUILT}-${file}`, dockerfile, context, key });
  });
}

/** The names under which kubeadm and kind look for images, by the image that has them here. */
async function listNames(): Promise<Record<'components' | 'pause', string[]>> {
  const list = ['config', 'images', 'list', '--kubernetes-version', KUBERNETES_VERSION];
  const required = (await runCommand([await ensureBinary('kubeadm'), ...list])).trim().split('\n');
  const source = await findModule('kind');
  const readNames = (pattern: RegExp, ...path: string[]) =>
    [...readFileSync(join(source, ...path), 'utf8').matchAll(pattern)].map(([, name]) => name!);
  // No pod runs these: their names are there so that kind does not pull them.
  const readUnused = (file: string) =>
    readNames(/"(docker\.io\/kindest\/[^"]+)"/g, 'pkg', 'build', 'nodeimage', file);
  const config = ['images', 'base', 'files', 'etc', 'containerd', 'config.toml'];
  return {
    components: required.filter((name) => !name.includes('/pause:')),
    pause: [
      ...readNames(/^\s*sandbox_image = "(.+)"$/gm, ...config),
      ...readUnused('const_cni.go'),
      ...readUnused('const_storage.go'),
    ],
  };
}

/** With the names in the archive alone, and in full, as kind looks for them: `docker save` would shorten those of Docker Hub. */
async function saveAs(file: string, names: string[], archive: string): Promise<void> {
  await withFolder(async (folder) => {
    const saved = join(folder, 'saved.tar');
    await runDocker(['save', '--output', saved, `${BUILT}-${file}`]);
    await runCommand(['tar', '-C', folder, '-xf', saved]);
    rmSync(saved);
    const manifest = join(folder, 'manifest.json');
    const [image] = JSON.parse(readFileSync(manifest, 'utf8'));
    writeFileSync(manifest, JSON.stringify([{ ...image, RepoTags: names }]));
    await runCommand(['tar', '-C', folder, '-cf', archive, ...readdirSync(folder)]);
  });
}
