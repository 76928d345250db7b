/** The images for test pods: pulled where a registry has them, else built here, once for each content. */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readChartImage } from '../machine/valkey.ts';
import { runCommand } from './commands.ts';
import {
  buildDebian,
  buildDockerfile,
  copyPrograms,
  lockBuilds,
  readImageId,
  readImageKey,
  withFolder,
} from './image-build.ts';
import { ensurePulled } from './image-pull.ts';
import { chooseImageSource } from './image-source.ts';
import { PROJECT_FOLDER } from './layout.ts';
import { writeTinyModel } from './tiny-gguf.ts';

export interface Image {
  name: string;
  base?: Image;
  /** A registry has it under this name: it is built only where that one cannot be reached. */
  isPublished?: boolean;
  /** Changes if the image must be rebuilt. Need not include the base's key. */
  readInputs: () => Promise<string>;
  build: (key: string) => Promise<void>;
}

/** No registry has this name, so nothing of it is ever pulled. */
const PROJECT_REGISTRY = 'localhost/berth';

export const debianImage = (release: string): Image => ({
  name: `localhost/berth-debian:${release}`,
  readInputs: async () => `debootstrap 2 ${release}`,
  build: (key) => buildDebian(`localhost/berth-debian:${release}`, release, key),
});

interface LocalImage {
  name: string;
  base?: Image;
  isPublished?: boolean;
  /** Puts what the Dockerfile copies into an empty folder. */
  fill?: (folder: string) => Promise<void>;
}

/** An image of `images/<file>.Dockerfile` beside this file. */
function localImage(file: string, { name, base, isPublished, fill = async () => {} }: LocalImage): Image {
  const dockerfile = join(import.meta.dirname, 'images', `${file}.Dockerfile`);
  return {
    name,
    ...(base && { base }),
    ...(isPublished && { isPublished }),
    readInputs: async () => `${readFileSync(dockerfile, 'utf8')}${fill}`,
    build: (key) =>
      withFolder(async (context) => {
        await fill(context);
        await buildDockerfile({ name, dockerfile, context, key });
      }),
  };
}

/** Base of the project's own images. */
export const nodeImage = localImage('node', {
  name: 'docker.io/library/node:24-bookworm-slim',
  isPublished: true,
  base: debianImage('bookworm'),
  fill: async (folder) => {
    copyFileSync(process.execPath, join(folder, 'node'));
    await runCommand(['npm', 'pack', '--silent', 'npm@11.21.2'], { cwd: folder });
    await runCommand(['sh', '-ec', 'tar -xzf npm-*.tgz; rm npm-*.tgz; mv package npm'], { cwd: folder });
  },
});

/** The chart's own Redis. */
export const redisImage = localImage('valkey', {
  name: readChartImage(),
  isPublished: true,
  base: debianImage('forky'),
});

/** The ingress controller. */
export const traefikImage = localImage('traefik', {
  name: 'docker.io/library/traefik:v3.6.12',
  isPublished: true,
  fill: (folder) => copyPrograms(folder, { traefik: 'traefik' }),
});

/** GPUs that do not exist. */
export const devicePluginImage = localImage('deviceplugin', {
  name: 'localhost/berth-deviceplugin:1',
  fill: (folder) => copyPrograms(folder, { deviceplugin: 'deviceplugin' }),
});

const llamaCppBase = localImage('llama-cpp', {
  name: 'ghcr.io/ggml-org/llama.cpp:server',
  isPublished: true,
  base: debianImage('forky'),
});

/** A real engine on the CPU; its model is `/models/tiny.gguf`. */
export const llamaCppImage = localImage('llama-cpp-test', {
  name: `${PROJECT_REGISTRY}/llama-cpp-test:1`,
  base: llamaCppBase,
  fill: async (folder) => writeTinyModel(join(folder, 'tiny.gguf')),
});

/** A real S3 server with two empty buckets, `berth` and `customer`, in `/data/buckets`. */
export const s3Image = localImage('s3', {
  name: `${PROJECT_REGISTRY}/s3-test:1`,
  fill: async (folder) => {
    await copyPrograms(folder, { versitygw: 'versitygw' });
    for (const path of ['buckets/berth', 'buckets/customer', 'metadata'])
      mkdirSync(join(folder, 'data', path), { recursive: true });
  },
});

/** Whether an image of this name is made here: others may be built on one that is. */
export const isOwnName = (name: string): boolean =>
  name.startsWith('localhost/berth') ||
  [nodeImage, redisImage, traefikImage, llamaCppBase].some((image) => image.name.endsWith(name));

/** The project's images, each of `images/<name>.Dockerfile`. */
export function projectImages(): Image[] {
  const folder = join(PROJECT_FOLDER, 'images');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.Dockerfile'))
    .map((file) => projectImage(join(folder, file)));
}

function projectImage(dockerfile: string): Image {
  const name = `${PROJECT_REGISTRY}/${basename(dockerfile, '.Dockerfile')}:${readProjectVersion()}`;
  return {
    name,
    base: nodeImage,
    readInputs: () => readContext(dockerfile),
    build: (key) => buildDockerfile({ name, dockerfile, context: PROJECT_FOLDER, key }),
  };
}

/**
 * Builds what has changed, sequentially: concurrency gains nothing. Resolves with the names of the images that Docker has then; those
 * that are pulled are left to the node.
 */
export async function buildImages(images: Image[]): Promise<string[]> {
  const names: string[] = [];
  for (const image of images) {
    if (await isPulled(image)) continue;
    await lockBuilds(() => ensureImage(image));
    names.push(image.name);
  }
  return names;
}

const isPulled = async ({ isPublished = false }: Image): Promise<boolean> =>
  isPublished && (await chooseImageSource()) === 'pull';

/** Builds it unless it is there; `buildImages` does so under the lock. Resolves with its key. */
export async function ensureImage(image: Image): Promise<string> {
  if (await isPulled(image)) return readImageId(await ensurePulled(image.name));
  const had = await readImageKey(image.name);
  // The published one itself, without a label: nothing stands in for it.
  if (image.isPublished && had === '') return readImageId(image.name);
  const base = image.base ? await ensureImage(image.base) : '';
  const key = createHash('sha256')
    .update(`${base}\n${await image.readInputs()}`)
    .digest('hex')
    .slice(0, 16);
  if (had === key) return key;
  console.error(`building image ${image.name}…`);
  await image.build(key);
  return key;
}

const readProjectVersion = (): string =>
  JSON.parse(readFileSync(join(PROJECT_FOLDER, 'package.json'), 'utf8')).version;

/** The Dockerfile and the contents of all that it copies from the checkout. */
async function readContext(dockerfile: string): Promise<string> {
  const text = readFileSync(dockerfile, 'utf8');
  const hash = createHash('sha256').update(text);
  const list = [
    'git',
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
    '--',
    ...copiedPaths(text),
  ];
  const files = (await runCommand(list, { cwd: PROJECT_FOLDER })).split('\0').filter(Boolean).sort();
  // By their paths within the checkout, so another checkout of the same sources gives the same image.
  for (const path of files) {
    const file = join(PROJECT_FOLDER, path);
    if (existsSync(file)) hash.update(`${path}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

const copiedPaths = (dockerfile: string): string[] =>
  [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, paths]) =>
    paths!
      .split(/\s+/)
      .filter((path) => !path.startsWith('--'))
      .slice(0, -1),
  );
