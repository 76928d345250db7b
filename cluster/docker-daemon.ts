/** Docker's daemon where no init system runs, as in many containers: started by the first process that needs it, stopped by the last. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { awaitProcessLock, type ProcessLock, tryProcessLock } from '../machine/process-lock.ts';
import { findProgram } from '../machine/system-package.ts';
import { waitUntil } from '../machine/wait-until.ts';

const DATA_FOLDER = join(CACHE_FOLDER, 'docker');
/** What must not outlive a reboot. */
const RUN_FOLDER = '/run/berth-docker';
const PID_FILE = join(RUN_FOLDER, 'pid');
/** Docker's default. */
const OTHER_PID_FILE = '/run/docker.pid';
const CONTAINERD_PID_FILE = join(RUN_FOLDER, 'exec', 'containerd', 'containerd.pid');
/** A file for each process that needs it. */
const USERS = join(RUN_FOLDER, 'users');
const LOCK = `${RUN_FOLDER}.lock`;
const HOLDER = 'node';
const STOP_TIMEOUT_MS = 30_000;

export const DAEMON_LOG = join(DATA_FOLDER, 'log');

/** Held while it is started or stopped: two starts at once would remove each other's files. */
export const lockDaemon = (): ProcessLock => awaitProcessLock(LOCK, HOLDER);

export const isDaemonRunning = (): boolean => readPid() !== undefined;

/** One that somebody else started, as a container's entry point may. */
export function isOtherDaemonRunning(): boolean {
  const pid = existsSync(OTHER_PID_FILE) ? readFileSync(OTHER_PID_FILE, 'utf8').trim() : '';
  return pid !== '' && existsSync(`/proc/${pid}`);
}

const OWN_USE = join(USERS, String(process.pid));

/** Keeps other processes from stopping it, until this one leaves it or ends. */
export function joinDaemon(): void {
  if (isDaemonRunning()) tryProcessLock(OWN_USE, HOLDER);
}

export const leaveDaemon = (): void => rmSync(OWN_USE, { force: true });

/** It has no bridge: kind makes a network of its own. Returns before it responds. */
export function startDaemon(): void {
  mkdirSync(DATA_FOLDER, { recursive: true });
  mkdirSync(RUN_FOLDER, { recursive: true });
  if (!isDaemonRunning())
    // Left by a killed one. Its containerd died with it, but without an init its number stays taken, and Docker would wait for it.
    for (const path of [PID_FILE, CONTAINERD_PID_FILE]) rmSync(path, { force: true });
  const log = openSync(DAEMON_LOG, 'w');
  const child = spawn(
    findProgram('dockerd')!,
    [
      `--data-root=${join(DATA_FOLDER, 'data')}`,
      `--exec-root=${join(RUN_FOLDER, 'exec')}`,
      `--pidfile=${PID_FILE}`,
      '--bridge=none',
      // Else the first network would take the range of a bridge that is not there.
      '--default-address-pool=base=10.89.0.0/16,size=24',
      ...(hasResourceCapability() ? [] : prepareCappedRuntime()),
    ],
    { stdio: ['ignore', log, log], detached: true },
  );
  closeSync(log);
  child.unref();
}

/** Does nothing while another process needs it. */
export async function stopDaemon(): Promise<void> {
  const pid = readPid();
  if (pid === undefined || hasUsers()) return;
  process.kill(pid, 'SIGTERM');
  await waitUntil(() => !existsSync(`/proc/${pid}`), 'the end of dockerd', STOP_TIMEOUT_MS);
  rmSync(RUN_FOLDER, { recursive: true, force: true });
}

function hasUsers(): boolean {
  if (!existsSync(USERS)) return false;
  return readdirSync(USERS).some((file) => {
    const lock = tryProcessLock(join(USERS, file), HOLDER);
    if ('heldBy' in lock) return true;
    lock.release();
    return false;
  });
}

/** Number of a daemon that was started here and runs; another process may have the number by now. */
function readPid(): number | undefined {
  try {
    const pid = Number(readFileSync(PID_FILE, 'utf8'));
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(PID_FILE) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** An older Docker asks for every capability there is, and root in a container may lack this one. */
function prepareCappedRuntime(): string[] {
  const name = 'runc-without-sys-resource';
  // The daemon may outlive this checkout.
  const path = join(RUN_FOLDER, name);
  copyFileSync(join(import.meta.dirname, name), path);
  return [`--add-runtime=capped=${path}`, '--default-runtime=capped'];
}

const CAP_SYS_RESOURCE = 24n;

function hasResourceCapability(): boolean {
  const [, mask] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  return ((BigInt(`0x${mask}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}
