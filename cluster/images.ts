/** The images for test pods. There is no registry: each is built here, once per content. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { readChartImage } from '../machine/valkey.ts';
import { ensureBinary } from './binaries.ts';
import { buildDebian, buildDockerfile, readImageKey, saveImage } from './buildah.ts';
import { runCommand } from './commands.ts';
import { PROJECT_FOLDER } from './layout.ts';
import { PAUSE_IMAGE } from './node-files.ts';
import { writeTinyModel } from './tiny-gguf.ts';

export interface Image {
  name: string;
  base?: Image;
  /** Of the project's own images: what Docker can build as well. */
  dockerfile?: string;
  /** Changes if the image must be rebuilt. Need not include the base's key. */
  readInputs: () => Promise<string>;
  build: (key: string) => Promise<void>;
}

/** No registry has this name, so nothing of it is ever pulled. */
const PROJECT_REGISTRY = 'localhost/berth';

const debianImage = (release: string): Image => ({
  name: `localhost/berth-debian:${release}`,
  readInputs: async () => `debootstrap 1 ${release}`,
  build: (key) => buildDebian(`localhost/berth-debian:${release}`, release, key),
});

/** An image of `images/<file>.Dockerfile` beside this file, whose context `fill` puts into an empty folder. */
function localImage(
  file: string,
  name: string,
  fill: (folder: string) => Promise<void>,
  base?: Image,
): Image {
  const dockerfile = join(import.meta.dirname, 'images', `${file}.Dockerfile`);
  return {
    name,
    ...(base && { base }),
    readInputs: async () => `${readFileSync(dockerfile, 'utf8')}${fill}`,
    build: async (key) => {
      const context = mkdtempSync(join(tmpdir(), 'berth-image-'));
      try {
        await fill(context);
        await buildDockerfile({ name, dockerfile, context, key });
      } finally {
        rmSync(context, { recursive: true, force: true });
      }
    },
  };
}

export const pauseImage = localImage('pause', PAUSE_IMAGE, async (folder) =>
  copyFileSync(await ensureBinary('pause'), join(folder, 'pause')),
);

/** Base of the project's own images. */
export const nodeImage = localImage(
  'node',
  'docker.io/library/node:24-bookworm-slim',
  async (folder) => {
    copyFileSync(process.execPath, join(folder, 'node'));
    await runCommand(['npm', 'pack', '--silent', 'npm@11.21.2'], { cwd: folder });
    await runCommand(['sh', '-ec', 'tar -xzf npm-*.tgz; rm npm-*.tgz; mv package npm'], { cwd: folder });
  },
  debianImage('bookworm'),
);

/** The chart's own Redis. */
export const redisImage = localImage('valkey', readChartImage(), async () => {}, debianImage('forky'));

/** A real engine on the CPU; its model is `/models/tiny.gguf`. */
export const llamaCppImage = localImage(
  'llama-cpp',
  `${PROJECT_REGISTRY}/llama-cpp-test:1`,
  async (folder) => writeTinyModel(join(folder, 'tiny.gguf')),
  debianImage('forky'),
);

/** A real S3 server with two empty buckets, `berth` and `customer`, in `/data/buckets`. */
export const s3Image = localImage('s3', `${PROJECT_REGISTRY}/s3-test:1`, async (folder) => {
  copyFileSync(await ensureBinary('versitygw'), join(folder, 'versitygw'));
  for (const path of ['buckets/berth', 'buckets/customer', 'metadata'])
    mkdirSync(join(folder, 'data', path), { recursive: true });
});

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
    dockerfile,
    base: nodeImage,
    readInputs: () => readContext(dockerfile),
    build: (key) => buildDockerfile({ name, dockerfile, context: PROJECT_FOLDER, key }),
  };
}

export interface SavedImage {
  name: string;
  archive: string;
}

/** Archives of the images, built sequentially: concurrency gains nothing. */
export async function saveImages(images: Image[]): Promise<SavedImage[]> {
  const saved: SavedImage[] = [];
  for (const image of images) saved.push({ name: image.name, archive: await ensureArchive(image) });
  return saved;
}

/** An archive of the image, rebuilt if any input has changed. Resolves with its path. */
export async function ensureArchive(image: Image): Promise<string> {
  const key = await keyOf(image);
  const archive = archivePath(image, key);
  if (existsSync(archive)) return archive;
  await ensureBuilt(image, key);
  for (const old of globSync(archivePath(image, '*'))) rmSync(old);
  await saveImage(image.name, archive);
  return archive;
}

async function ensureBuilt(image: Image, key: string): Promise<void> {
  if ((await readImageKey(image.name)) === key) return;
  if (image.base) await ensureBuilt(image.base, await keyOf(image.base));
  console.error(`building image ${image.name}…`);
  await image.build(key);
}

async function keyOf(image: Image): Promise<string> {
  const base = image.base ? await keyOf(image.base) : '';
  return createHash('sha256')
    .update(`${base}\n${await image.readInputs()}`)
    .digest('hex')
    .slice(0, 16);
}

const archivePath = (image: Image, key: string): string =>
  join(CACHE_FOLDER, 'images', `${image.name.replaceAll(/[^a-z0-9.]+/g, '-')}-${key}.tar`);

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
