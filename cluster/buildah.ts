/** Builds images without a daemon, in a store of the cache folder. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { ensureProgram } from '../machine/system-package.ts';
import { type CommandOptions, runCommand, tryCommand } from './commands.ts';

const KEY_LABEL = 'dev.berth.test.key';
const CERTIFICATES = '/etc/ssl/certs';
/** debootstrap's own default. */
const DEFAULT_MIRROR = '';
const DEBOOTSTRAP_SCRIPTS = '/usr/share/debootstrap/scripts';

/** The build key of the image with this name, if there is one. */
export async function readImageKey(name: string): Promise<string | undefined> {
  const format = `{{index .OCIv1.Config.Labels "${KEY_LABEL}"}}`;
  const { code, output } = await tryBuildah('inspect', '--type', 'image', '--format', format, name);
  return code === 0 ? output.trim() : undefined;
}

export interface BuildOptions {
  name: string;
  dockerfile: string;
  context: string;
  key: string;
}

/** Builds a Dockerfile. The host's certificates are there while it builds: a proxy may re-sign traffic. */
export async function buildDockerfile({ name, dockerfile, context, key }: BuildOptions): Promise<void> {
  const certificates = existsSync(CERTIFICATES) ? ['--volume', `${CERTIFICATES}:${CERTIFICATES}:ro`] : [];
  const settings = ['--file', dockerfile, '--tag', name, '--label', `${KEY_LABEL}=${key}`];
  await buildah(['bud', '--force-rm', '--layers', '--pull-never', ...settings, ...certificates, context]);
}

/** Creates an image of a minimal Debian. */
export async function buildDebian(name: string, release: string, key: string): Promise<void> {
  const container = (await buildah(['from', 'scratch'])).trim();
  try {
    const root = (await buildah(['mount', container])).trim();
    await runCommand(debootstrapCommand(release, root));
    await buildah([
      'config',
      '--env',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      container,
    ]);
    await buildah(['config', '--label', `${KEY_LABEL}=${key}`, '--cmd', 'bash', container]);
    await buildah(['commit', '--quiet', container, name]);
  } finally {
    await tryBuildah('rm', container);
  }
}

function debootstrapCommand(release: string, root: string): string[] {
  const debootstrap = ensureProgram('debootstrap', 'debootstrap');
  const command = [debootstrap, '--variant=minbase', '--include=ca-certificates', release, root];
  // A release newer than this machine's debootstrap is created like unstable.
  const isKnown = existsSync(join(DEBOOTSTRAP_SCRIPTS, release));
  return isKnown ? command : [...command, DEFAULT_MIRROR, join(DEBOOTSTRAP_SCRIPTS, 'sid')];
}

/** Writes the image as an archive that containerd and Docker load. */
export async function saveImage(name: string, archive: string): Promise<void> {
  mkdirSync(dirname(archive), { recursive: true });
  rmSync(`${archive}.part`, { force: true });
  await buildah(['push', '--quiet', name, `docker-archive:${archive}.part:${name}`]);
  renameSync(`${archive}.part`, archive);
}

const buildah = (args: string[]): Promise<string> => runCommand(command(args), OPTIONS);
const tryBuildah = (...args: string[]) => tryCommand(command(args), OPTIONS);

const OPTIONS: CommandOptions = { env: { BUILDAH_ISOLATION: 'chroot' } };

function command(args: string[]): string[] {
  const store = join(CACHE_FOLDER, 'buildah');
  mkdirSync(store, { recursive: true });
  const program = ensureProgram('buildah', 'buildah');
  // What is mounted now; gone after a reboot, as the mounts are.
  const mounts = join('/run/berth-buildah', createHash('sha256').update(store).digest('hex').slice(0, 8));
  return [program, '--root', store, '--runroot', mounts, '--storage-driver', 'overlay', ...args];
}
