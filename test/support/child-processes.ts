/** Programs that end with this process, each with its output in a log file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

const STOP_GRACE_MS = 3_000;

/**
 * The first argument is the program's name, since one binary may be several programs. Killed when this process ends in any way. `env`:
 * added to this process' own.
 */
export function startProcess(
  command: string,
  [name, ...args]: string[],
  { logPath, env = {} }: { logPath: string; env?: Record<string, string> },
): ChildProcess {
  const log = openSync(logPath, 'a');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.once('error', (error) => console.error(`${name}: ${error.message}`));
  return child;
}

/** SIGTERM, then SIGKILL after a while. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await endBy(child, 'SIGTERM');
  clearTimeout(timer);
}

/** For what has nothing to leave behind. */
export const killProcess = (child: ChildProcess): Promise<void> => endBy(child, 'SIGKILL');

async function endBy(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

export const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null;
