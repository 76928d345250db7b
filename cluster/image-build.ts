/** Builds images with Docker, each once for each content: its key is a label of the image. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaitProcessLock } from '../machine/process-lock.ts';
import { ensureProgram } from '../machine/system-package.ts';
import { ensureBinary, IMAGE_BUILD_LOCK } from './binaries.ts';
import { runCommand } from './commands.ts';
import { runDocker, tryDocker } from './docker.ts';
import { isDaemonRunning } from './docker-daemon.ts';

const KEY_LABEL = 'dev.berth.test.key';
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';
/** debootstrap's own default. */
const DEFAULT_MIRROR = '';
const DEBOOTSTRAP_SCRIPTS = '/usr/share/debootstrap/scripts';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The key that the image with this name was built with; empty if it was not built here, undefined if there is none. */
export async function readImageKey(name: string): Promise<string | undefined> {
  const format = `{{index .Config.Labels "${KEY_LABEL}"}}`;
  const { code, output } = await tryDocker(['image', 'inspect', '--format', format, name]);
  return code === 0 ? output.trim() : undefined;
}

/** The names of all images that were built here, or on one that was. Throws where no Docker responds. */
export const listBuiltImages = async (): Promise<string[]> => {
  const list = await runDocker([
    'image',
    'ls',
    '--format',
    '{{.Repository}}:{{.Tag}}',
    '--filter',
    `label=${KEY_LABEL}`,
  ]);
  return [...new Set(list.split('\n').filter(Boolean))];
};

/** Layers of the images that change most, so that a build does not install its packages again. */
const KEPT_LAYERS = '2GB';

/** Removes what builds left: replaced images, and most of Docker's layers where nobody else builds with it. */
export async function removeLeftovers(): Promise<void> {
  await runDocker(['image', 'prune', '--force', '--filter', `label=${KEY_LABEL}`]);
  if (isDaemonRunning()) await runDocker(['builder', 'prune', '--force', '--keep-storage', KEPT_LAYERS]);
}

/** Identifies its content. */
export const readImageId = async (name: string): Promise<string> =>
  (await runDocker(['image', 'inspect', '--format', '{{.Id}}', name])).trim();

/** Builds one at a time: of two processes that need an image, the second finds it built. Not to be nested. */
export async function lockBuilds<T>(build: () => Promise<T>): Promise<T> {
  const lock = awaitProcessLock(IMAGE_BUILD_LOCK, 'node');
  try {
    return await build();
  } finally {
    lock.release();
  }
}

export interface BuildOptions {
  name: string;
  dockerfile: string;
  context: string;
  key: string;
  /** A stage of the Dockerfile; the last by default. */
  target?: string;
  variables?: Record<string, string>;
}

/** Builds a Dockerfile, in this machine's network: Docker's own may not exist. */
export async function buildDockerfile(options: BuildOptions): Promise<void> {
  const { name, dockerfile, context, key, target, variables = {} } = options;
  const settings = ['--file', dockerfile, '--tag', name, '--label', `${KEY_LABEL}=${key}`, '--network=host'];
  const values = Object.entries(variables).flatMap(([variable, value]) => [
    '--build-arg',
    `${variable}=${value}`,
  ]);
  await runDocker([
    'build',
    '--quiet',
    ...settings,
    ...(target ? ['--target', target] : []),
    ...values,
    context,
  ]);
}

/** An empty folder for as long as `use` runs. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-image-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates an image of a minimal Debian that trusts what this machine trusts: a proxy may re-sign traffic. */
export const buildDebian = (name: string, release: string, key: string): Promise<void> =>
  withFolder(async (root) => {
    await runCommand(debootstrapCommand(release, root));
    if (existsSync(`/${CERTIFICATES}`)) copyFileSync(`/${CERTIFICATES}`, join(root, CERTIFICATES));
    const changes = [`LABEL ${KEY_LABEL}=${key}`, `ENV PATH=${PATH}`, 'CMD ["bash"]'];
    const settings = changes.flatMap((change) => ['--change', change]);
    const excluded = ['./var/cache/apt/archives/*.deb', './var/lib/apt/lists/*'].map(
      (path) => `--exclude=${path}`,
    );
    await withFolder(async (folder) => {
      const archive = join(folder, 'root.tar');
      await runCommand(['tar', '-C', root, ...excluded, '-cf', archive, '.']);
      await runDocker(['import', ...settings, archive, name]);
    });
  });

function debootstrapCommand(release: string, root: string): string[] {
  const debootstrap = ensureProgram('debootstrap', 'debootstrap');
  const command = [debootstrap, '--variant=minbase', '--include=ca-certificates', release, root];
  // A release newer than this machine's debootstrap is created like unstable.
  const isKnown = existsSync(join(DEBOOTSTRAP_SCRIPTS, release));
  return isKnown ? command : [...command, DEFAULT_MIRROR, join(DEBOOTSTRAP_SCRIPTS, 'sid')];
}

/** Copies programs into a folder, built where they are missing. `names`: what each copy is called, and its program. */
export async function copyPrograms(folder: string, names: Record<string, string>): Promise<void> {
  for (const [copy, program] of Object.entries(names))
    copyFileSync(await ensureBinary(program), join(folder, copy));
}
