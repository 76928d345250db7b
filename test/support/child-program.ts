/** One of Berth's programs as a child process, with its output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

export interface ChildProgram {
  readonly process: ChildProcess;
  /** All that it wrote so far. */
  readonly output: string;
  /** Exit code or signal; null while it runs. */
  readonly ended: number | string | null;
  /** The first match in its output; throws if it exits, or after a timeout. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** SIGTERM by default; resolves when it has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const WAIT_MS = 60_000;

export function startProgram(file: string, env: Record<string, string>): ChildProgram {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  child.once('exit', () => process.off('exit', killAtExit));
  const readEnd = () => child.exitCode ?? child.signalCode;
  return {
    process: child,
    get output() {
      return output;
    },
    get ended() {
      return readEnd();
    },
    waitFor: async (pattern) => {
      const deadline = performance.now() + WAIT_MS;
      for (;;) {
        const match = pattern.exec(output);
        if (match) return match;
        if (readEnd() !== null || performance.now() > deadline)
          throw new Error(`${file} did not write ${pattern}:\n${output}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    stop: async (signal = 'SIGTERM') => {
      if (readEnd() !== null) return;
      child.kill('SIGCONT');
      child.kill(signal);
      await once(child, 'exit');
    },
  };
}

/** Test processes that run in parallel, numbered by Mocha. */
const MAX_PROCESSES = 4;

/** A random one from this process' share of `count` ports. */
export function pickPort(first: number, count: number): number {
  const own = ownPorts(first, count);
  return own.first + Math.floor(Math.random() * own.count);
}

function ownPorts(first: number, count: number): { first: number; count: number } {
  const own = Math.floor(count / MAX_PROCESSES);
  const number = Number(process.env.MOCHA_WORKER_ID ?? 0) % MAX_PROCESSES;
  return { first: first + number * own, count: own };
}

const PORTS = ownPorts(20_000, 12_000);
let nextPort = Math.floor(Math.random() * PORTS.count);

/**
 * A port that was free a moment ago on every loopback address given, and that no earlier call has
 * handed out: a program that is yet to listen on its own must not find it taken by the next one.
 */
export async function findFreePort(hosts: string[] = ['127.0.0.1']): Promise<number> {
  for (let attempt = 0; attempt < PORTS.count; attempt++) {
    const port = PORTS.first + (nextPort++ % PORTS.count);
    const free = await Promise.all(hosts.map((host) => isFree(host, port)));
    if (free.every(Boolean)) return port;
  }
  throw new Error('no free port found');
}

const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
