/** Daemons, tracked by files in a folder: a pid and a log each. */

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../machine/wait-until.ts';

export interface DaemonCommand {
  name: string;
  argv: string[];
  env?: Record<string, string>;
}

const TERM_GRACE_MS = 5_000;
const KILL_GRACE_MS = 10_000;

/** Starts it with its output appended to `logs/<name>.log`. Does nothing if it already runs. */
export function startDaemon(folder: string, { name, argv, env }: DaemonCommand): void {
  if (isDaemonRunning(folder, name)) return;
  mkdirSync(join(folder, 'pids'), { recursive: true });
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const log = openSync(logPath(folder, name), 'a');
  const [command, ...args] = argv;
  const child = spawn(command!, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  child.once('error', (error) => console.error(`${name}: ${error.message}`));
  if (child.pid === undefined) throw new Error(`${name} could not be started: ${command}`);
  child.unref();
  writeFileSync(pidPath(folder, name), `${child.pid} ${readStartTime(child.pid)}`);
}

/** Whether the process that was started with this name still runs; another one with its pid does not count. */
export function isDaemonRunning(folder: string, name: string): boolean {
  return readPid(folder, name) !== undefined;
}

/** SIGTERM to all at once, SIGKILL to those that still run after `graceMs`. */
export async function stopDaemons(folder: string, names: string[], graceMs = TERM_GRACE_MS): Promise<void> {
  signal(folder, names, 'SIGTERM');
  await waitForEnd(folder, names, graceMs).catch(() => {
    signal(folder, names, 'SIGKILL');
    return waitForEnd(folder, names, KILL_GRACE_MS);
  });
  for (const name of names) rmSync(pidPath(folder, name), { force: true });
}

/** The names of all processes started in the folder and not stopped. */
export function listDaemons(folder: string): string[] {
  try {
    return readdirSync(join(folder, 'pids')).sort();
  } catch {
    return [];
  }
}

export const logPath = (folder: string, name: string): string => join(folder, 'logs', `${name}.log`);

export const readLogTail = (folder: string, name: string, lines = 15): string =>
  readFileSync(logPath(folder, name), 'utf8').trimEnd().split('\n').slice(-lines).join('\n');

const pidPath = (folder: string, name: string): string => join(folder, 'pids', name);

function readPid(folder: string, name: string): number | undefined {
  try {
    const [pid, startTime] = readFileSync(pidPath(folder, name), 'utf8').split(' ');
    return readStartTime(Number(pid)) === startTime ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/** Clock ticks from boot to the process's start, which distinguishes it from a later one with the same pid. */
function readStartTime(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function signal(folder: string, names: string[], name: NodeJS.Signals): void {
  for (const pid of names.map((daemon) => readPid(folder, daemon)))
    if (pid !== undefined)
      try {
        process.kill(pid, name);
      } catch {
        // It has just exited.
      }
}

const waitForEnd = (folder: string, names: string[], timeoutMs: number): Promise<void> =>
  waitUntil(
    () => names.every((name) => !isDaemonRunning(folder, name)),
    `the end of ${names.join(', ')}`,
    timeoutMs,
  );
