/** Docker, which runs a cluster's nodes and builds its images: the machine's own, or Debian's, started here. */
import { existsSync } from 'node:fs';
import { findProgram, installPackages } from '../machine/system-package.ts';
import { waitUntil } from '../machine/wait-until.ts';
import { type CommandOptions, runCommand, tryCommand } from './commands.ts';
import {
  DAEMON_LOG,
  isDaemonRunning,
  isOtherDaemonRunning,
  joinDaemon,
  leaveDaemon,
  lockDaemon,
  startDaemon,
  stopDaemon,
} from './docker-daemon.ts';

const START_TIMEOUT_MS = 60_000;
const REMEDY =
  'install Docker (https://docs.docker.com/get-docker/), start it (unset DOCKER_HOST if it names another), and run this again';
/** Since 23, Docker's own command builds with BuildKit only where the plugin buildx is; Debian's older one always does. */
const DEBIAN_DOCKER = '/usr/bin/docker';
let program = 'docker';

/** Runs `docker`; resolves with its output. Throws with its errors if it fails. */
export const runDocker = (args: string[], options: CommandOptions = {}): Promise<string> =>
  runCommand([program, ...args], withBuildKit(options));

/** Runs `docker`; resolves with its output and exit code, whatever the result. */
export const tryDocker = (args: string[], options: CommandOptions = {}) =>
  tryCommand([program, ...args], withBuildKit(options));

const withBuildKit = (options: CommandOptions): CommandOptions => ({
  ...options,
  env: { ...options.env, DOCKER_BUILDKIT: '1' },
});

/** Resolves when Docker responds; installs and starts it first where that can be done. Throws with the remedy. */
export async function ensureDocker(): Promise<void> {
  if (canStart()) await ensureStarted();
  else if (!(await isDockerResponding())) throw new Error(`Docker does not respond: ${REMEDY}`);
  program = (await canBuild('docker')) || !existsSync(DEBIAN_DOCKER) ? 'docker' : DEBIAN_DOCKER;
}

const canStart = (): boolean =>
  !process.env.DOCKER_HOST &&
  !process.env.DOCKER_CONTEXT &&
  process.platform === 'linux' &&
  process.getuid?.() === 0;

/** If two processes need it at once, one starts it. */
async function ensureStarted(): Promise<void> {
  const lock = lockDaemon();
  try {
    if (!(await isDockerResponding())) {
      if (!findProgram('dockerd')) await install();
      await start();
    }
    joinDaemon();
  } finally {
    lock.release();
  }
}

/** Stops a Docker that was started here, unless something still runs on it, or another process still needs it. */
export async function releaseDocker(): Promise<void> {
  if (!canStart()) return;
  const lock = lockDaemon();
  try {
    leaveDaemon();
    if (!isDaemonRunning() || !(await isDockerResponding())) return;
    if ((await runDocker(['ps', '--quiet'])).trim() === '') await stopDaemon();
  } finally {
    lock.release();
  }
}

export async function isDockerResponding(): Promise<boolean> {
  if (!findProgram('docker')) return false;
  return (await tryDocker(['info'])).code === 0;
}

async function canBuild(docker: string): Promise<boolean> {
  const { output } = await tryCommand([docker, 'version', '--format', '{{.Client.Version}}']);
  if (Number.parseInt(output, 10) < 23) return true;
  return (await tryCommand([docker, 'buildx', 'version'])).code === 0;
}

async function install(): Promise<void> {
  if (!findProgram('apt-get')) throw new Error(`Docker is missing: ${REMEDY}`);
  console.error('installing docker.io…');
  installPackages(['docker.io']);
  // A package of its own since Debian 13 and Ubuntu 23.10.
  if ((await tryCommand(['apt-cache', 'show', 'docker-buildx'])).code === 0)
    installPackages(['docker-buildx']);
}

async function start(): Promise<void> {
  const hasSystemd = existsSync('/run/systemd/system');
  if (hasSystemd) await runCommand(['systemctl', 'start', 'docker']);
  // Ours would take its socket.
  else if (isOtherDaemonRunning()) console.error('waiting for the Docker that runs already…');
  else startDaemon();
  const log = hasSystemd ? 'journalctl --unit docker' : DAEMON_LOG;
  try {
    await waitUntil(isDockerResponding, `Docker; its log: ${log}`, START_TIMEOUT_MS, 200);
  } catch (error) {
    await stopDaemon();
    throw error;
  }
}
