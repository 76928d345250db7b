/** Child processes of `make run`: started with a log file each, stopped in order, never left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
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

/** The end of a child's log, to show when it failed. */
export function readLogTail(child: Child, lines = 15): string {
  return readFileSync(child.logPath, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}

const hasEnded = ({ process }: Child): boolean => process.exitCode !== null || process.signalCode !== null;

/** Waits until `url` answers 200; fails at once, with its log, when the child or one that it needs ends before. */
export async function waitForURL(
  child: Child,
  url: string,
  { needs = [], timeoutMs = 60_000 }: { needs?: readonly Child[]; timeoutMs?: number } = {},
): Promise<void> {
  const parts = [...needs, child];
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline && !parts.some(hasEnded)) {
    const isReady = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const failed = parts.find(hasEnded) ?? child;
  throw new Error(`${failed.name} did not start; the end of ${failed.logPath}:\n${readLogTail(failed)}`);
}
