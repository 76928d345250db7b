/** Docker, which runs a cluster's nodes and builds its images: the machine's own, or Debian's, started here. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { findProgram, installPackages } from '../machine/system-package.ts';
import { waitUntil } from '../machine/wait-until.ts';
import { type CommandOptions, runCommand, tryCommand } from './commands.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const REMEDY = 'install Docker (https://docs.docker.com/get-docker/), start it, and run this again';
/** Of a Docker that is started here. What must not outlive a reboot is in the second. */
const DATA_FOLDER = join(CACHE_FOLDER, 'docker');
const RUN_FOLDER = '/run/berth-docker';
const PID_FILE = join(RUN_FOLDER, 'pid');

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
  if (!(await isResponding())) {
    if (process.env.DOCKER_HOST)
      throw new Error(
        `no Docker responds at DOCKER_HOST=${process.env.DOCKER_HOST}: start it, or unset the variable`,
      );
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw new Error(`Docker does not respond: ${REMEDY}`);
    if (!findProgram('dockerd')) await install();
    await start();
  }
  program = (await canBuild('docker')) || !existsSync(DEBIAN_DOCKER) ? 'docker' : DEBIAN_DOCKER;
}

/** Stops a Docker that was started here, unless something still runs on it. */
export async function releaseDocker(): Promise<void> {
  const pid = readOwnPid();
  if (pid === undefined || !(await isResponding())) return;
  if ((await runDocker(['ps', '--quiet'])).trim() !== '') return;
  process.kill(pid, 'SIGTERM');
  await waitUntil(() => !existsSync(`/proc/${pid}`), 'the end of dockerd', STOP_TIMEOUT_MS);
  rmSync(RUN_FOLDER, { recursive: true, force: true });
}

export const isOwnDockerRunning = (): boolean => readOwnPid() !== undefined;

/** Of a dockerd that was started here and runs; another process may have the number by now. */
function readOwnPid(): number | undefined {
  try {
    const pid = Number(readFileSync(PID_FILE, 'utf8'));
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(PID_FILE) ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function isResponding(): Promise<boolean> {
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
  if (existsSync('/run/systemd/system')) await runCommand(['systemctl', 'start', 'docker']);
  else await startDaemon();
  await waitUntil(isResponding, () => `Docker; its log is ${logPath()}`, START_TIMEOUT_MS, 200);
}

const logPath = (): string => join(DATA_FOLDER, 'log');

/** Where no init system runs, as in many containers. It has no bridge: kind makes a network of its own. */
async function startDaemon(): Promise<void> {
  mkdirSync(DATA_FOLDER, { recursive: true });
  mkdirSync(RUN_FOLDER, { recursive: true });
  if (readOwnPid() === undefined) rmSync(PID_FILE, { force: true });
  const log = openSync(logPath(), 'w');
  const child = spawn(
    findProgram('dockerd')!,
    [
      `--data-root=${join(DATA_FOLDER, 'data')}`,
      `--exec-root=${join(RUN_FOLDER, 'exec')}`,
      `--pidfile=${PID_FILE}`,
      '--bridge=none',
      // Else the first network would take the range of a bridge that is not there.
      '--default-address-pool=base=10.89.0.0/16,size=24',
      ...(hasResourceCapability() ? [] : CAPPED_RUNTIME),
    ],
    { stdio: ['ignore', log, log], detached: true },
  );
  closeSync(log);
  child.unref();
}

/** An older Docker asks for every capability there is, and root in a container may lack this one. */
const CAPPED_RUNTIME = [
  `--add-runtime=capped=${join(import.meta.dirname, 'runc-without-sys-resource')}`,
  '--default-runtime=capped',
];
const CAP_SYS_RESOURCE = 24n;

function hasResourceCapability(): boolean {
  const [, mask] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  return ((BigInt(`0x${mask}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}
