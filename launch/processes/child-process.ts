/** Child processes of `make run`: each has a log file, and all are stopped in order. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sleep, systemClock } from '../../kit/clock.ts';
import { keepTrack } from './process-groups.ts';

export interface Child {
  name: string;
  process: ChildProcess;
  logPath: string;
  /** Resolves when it has ended. */
  ended: Promise<void>;
}

export interface ChildOptions {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  logPath: string;
}

const STOP_GRACE_MS = 8_000;

export function startChild(options: ChildOptions): Child {
  mkdirSync(dirname(options.logPath), { recursive: true });
  const log = openSync(options.logPath, 'w');
  // A process group of its own: Ctrl-C reaches the launcher alone, which then stops the parts in order.
  const child = spawn(options.command, options.args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  keepTrack(child);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return { name: options.name, process: child, logPath: options.logPath, ended };
}

export async function stopChild(child: Child): Promise<void> {
  if (hasEnded(child)) return;
  child.process.kill('SIGTERM');
  const timer = setTimeout(() => child.process.kill('SIGKILL'), STOP_GRACE_MS);
  await child.ended;
  clearTimeout(timer);
}

/** The end of a failed child's log. */
export function readLogTail(child: Child, lines = 15): string {
  return readFileSync(child.logPath, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}

/** Tests find the log by this line. */
export const describeExit = ({ name, logPath }: Pick<Child, 'name' | 'logPath'>): string =>
  `${name} exited; see ${logPath}`;

const hasEnded = ({ process }: Child): boolean => process.exitCode !== null || process.signalCode !== null;

const START_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 50;

/** Waits until `url` answers 200; fails at once, with the end of its log, when the child exits before. */
export async function waitForURL(child: Child, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && !hasEnded(child)) {
    const isReady = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    await sleep(systemClock, POLL_INTERVAL_MS);
  }
  throw new Error(`${child.name} did not start; last lines of ${child.logPath}:\n${readLogTail(child)}`);
}
