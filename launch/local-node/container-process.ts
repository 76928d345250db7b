/** A running container: a program of this machine, or one of Berth's own in a shared process. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { keepTrack } from '../processes/process-groups.ts';
import type { HostedProgram, Program } from './engine-programs.ts';
import type { Order, Report } from './program-host.ts';

export interface ContainerProcess {
  /** The exit code, as in a shell. */
  ended: Promise<number>;
  /** Terminates it; `force` kills it. */
  stop(force?: boolean): void;
}

export interface StartOptions {
  program: Exclude<Program, { kind: 'missing' }>;
  env: Record<string, string>;
  logPath: string;
}

const HOST_PROGRAM = join(import.meta.dirname, 'program-host.ts');
const SIGNAL_CODES: Partial<Record<NodeJS.Signals, number>> = { SIGTERM: 143, SIGKILL: 137, SIGSEGV: 139 };

/** One process per Berth program, started with its first container. */
export class ContainerProcesses {
  readonly #hosts = new Map<HostedProgram, ProgramHost>();
  readonly #logFolder: string;

  constructor(logFolder: string) {
    this.#logFolder = logFolder;
  }

  start({ program, env, logPath }: StartOptions): ContainerProcess {
    mkdirSync(dirname(logPath), { recursive: true });
    if (program.kind === 'command') return startCommand(program, env, logPath);
    return this.#host(program.program).start({ program: program.program, env, logPath });
  }

  /** Starts them in advance. */
  warm(): void {
    this.#host('gateway');
    this.#host('simulator');
  }

  close(): Promise<unknown> {
    return Promise.all([...this.#hosts.values()].map((host) => host.close()));
  }

  #host(program: HostedProgram): ProgramHost {
    const known = this.#hosts.get(program);
    if (known?.isAlive) return known;
    const host = new ProgramHost(program, join(this.#logFolder, `${program}s.log`));
    this.#hosts.set(program, host);
    return host;
  }
}

class ProgramHost {
  readonly #child: ChildProcess;
  readonly #running = new Map<string, (code: number) => void>();

  constructor(program: HostedProgram, logPath: string) {
    mkdirSync(dirname(logPath), { recursive: true });
    const log = openSync(logPath, 'a');
    const flags = program === 'gateway' ? ['--max-semi-space-size=8'] : [];
    // A group of its own: Ctrl-C reaches the launcher alone, which then stops the parts in order.
    this.#child = fork(HOST_PROGRAM, [program], {
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
      execArgv: flags,
    });
    closeSync(log);
    keepTrack(this.#child);
    this.#child.on('message', ({ id, code }: Report) => this.#end(id, code));
    this.#child.once('exit', (code, signal) => {
      for (const id of [...this.#running.keys()]) this.#end(id, code ?? SIGNAL_CODES[signal!] ?? 1);
    });
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  start(options: Omit<Order & { what: 'start' }, 'what' | 'id'>): ContainerProcess {
    const id = randomUUID();
    const ended = new Promise<number>((resolve) => this.#running.set(id, resolve));
    this.#send({ what: 'start', id, ...options });
    return { ended, stop: (force = false) => this.#send({ what: 'stop', id, force }) };
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  #send(order: Order): void {
    if (this.isAlive) this.#child.send(order, () => {});
    else this.#end(order.id, 1);
  }

  #end(id: string, code: number): void {
    const resolve = this.#running.get(id);
    this.#running.delete(id);
    resolve?.(code);
  }
}

function startCommand(
  { command, args }: Program & { kind: 'command' },
  env: Record<string, string>,
  logPath: string,
): ContainerProcess {
  const log = openSync(logPath, 'a', 0o600);
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  keepTrack(child);
  const ended = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? SIGNAL_CODES[signal!] ?? 1));
    child.once('error', () => resolve(127));
  });
  // Engines have workers of their own.
  const signalAll = (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal);
    } catch {}
  };
  // All processes of a container end with its first.
  child.once('exit', () => signalAll('SIGKILL'));
  const stop = (force = false) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    signalAll(force ? 'SIGKILL' : 'SIGTERM');
  };
  return { ended, stop };
}
