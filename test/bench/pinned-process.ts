/** Processes pinned to one core, with their CPU time and memory. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';

/** The system under test runs alone on one core; load, fake engine and Redis share the other. */
export const SYSTEM_CORE = 0;
export const LOAD_CORE = 1;

const TICKS_PER_SECOND = 100;

/** Whether this machine has both cores, and gives them to this process. */
export const canPin = (): boolean =>
  [SYSTEM_CORE, LOAD_CORE].every((core) => spawnSync('taskset', ['-c', String(core), 'true']).status === 0);

/** Prefix of a command: it runs on this core, and is killed when the bench ends in any way. */
const pin = (core: number): string[] => ['--pdeathsig', 'KILL', '--', 'taskset', '-c', String(core)];

export interface Command {
  program: string;
  args: string[];
  env?: Record<string, string>;
}

const running = new Set<ChildProcess>();

export function startPinned(
  core: number,
  { program, args, env = {} }: Command,
  logPath: string,
): ChildProcess {
  const log = openSync(logPath, 'a');
  const child = spawn('setpriv', [...pin(core), program, ...args], {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Runs a load generator on the load's core; returns the JSON that it prints. */
export async function runLoad<T>({ program, args, env = {} }: Command): Promise<T> {
  const { stdout } = await promisify(execFile)('setpriv', [...pin(LOAD_CORE), program, ...args], {
    env: { ...process.env, ...env },
  });
  return JSON.parse(/JSON (.*)/.exec(stdout)![1]!) as T;
}

export async function stopPinned(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await ended;
  clearTimeout(timer);
}

export async function stopAllPinned(): Promise<void> {
  await Promise.all([...running].map(stopPinned));
}

/** Seconds of CPU that a process has used. */
export function readCPU(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in MiB. */
export const readMemory = (pid: number): number => readStatus(pid, 'VmRSS') / 1024;

/** Peak of resident memory in MiB. */
export const readPeakMemory = (pid: number): number => readStatus(pid, 'VmHWM') / 1024;

const readStatus = (pid: number, field: string): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

/** A program on one of these ports would be measured instead of those that the bench starts. */
export async function refuseTakenPorts(ports: readonly number[]): Promise<void> {
  for (const port of ports)
    await new Promise<void>((resolve, reject) => {
      const server = createServer();
      server.once('error', () => reject(new Error(`port ${port} is taken: does another bench run?`)));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
    });
}

/** Resolves with the milliseconds after which a loopback port accepts connections. */
export async function waitForPort(port: number, timeoutMs = 20_000): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < timeoutMs) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (isOpen) return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`nothing listens on port ${port} after ${timeoutMs} ms`);
}
