/** A real Redis on a free loopback port, as the chart configures it, with its files in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareRedis } from '../../machine/redis-files.ts';
import { ensureValkey } from '../../machine/valkey.ts';
import { findFreePort } from './child-program.ts';

export interface RedisServerOptions {
  /** Further arguments of the server, such as ['--maxmemory', '4mb']. */
  args?: string[];
  /** Starts a Sentinel that watches this server as `mymaster`. */
  watch?: RedisServer;
  /** Fills the server's folder before it starts for the first time. */
  prepare?: (folder: string) => void;
  /** Replaces the line of the default user in the ACL file, for tests of wrong ones. */
  defaultUser?: string;
  /** Writes are on disk before the reply: for tests that kill it. */
  isStrict?: boolean;
  /** Accepts only TLS, with this certificate (PEM). */
  tls?: ServerCertificate;
}

export interface ServerCertificate {
  cert: string;
  key: string;
}

export interface RedisServer {
  /** With the operator's user and password, which has all permissions. */
  readonly url: string;
  readonly port: number;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
  /** SIGKILL; the files stay for `restart`. */
  kill(): Promise<void>;
  /** Shuts the server down if it runs, and starts it with the same port and files. */
  restart(): Promise<void>;
  /** Freezes the server: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Replaces its certificate, which is read at the next restart. */
  replaceCertificate(certificate: ServerCertificate): void;
}

export const REDIS_PASSWORDS = { operator: 'of-the-operator', front: 'of-fronts', console: 'of-the-console' };
const START_TIMEOUT_MS = 30_000;

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-redis-'));
  options.prepare?.(folder);
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
  const replaceCertificate = ({ cert, key }: ServerCertificate): void => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
  };
  if (options.tls) replaceCertificate(options.tls);
  const list = (port: number): string[] =>
    options.watch
      ? [
          writeSentinelFile(folder, options.watch),
          '--sentinel',
          '--bind',
          '127.0.0.1',
          '--port',
          String(port),
        ]
      : [
          ...prepareRedis({
            port,
            folder,
            passwords: REDIS_PASSWORDS,
            isStrict: options.isStrict ?? false,
            ...(options.tls && { tls: files }),
          }),
          ...(options.args ?? []),
        ];

  const start = (port: number): Promise<ChildProcess> => {
    const args = list(port);
    if (options.defaultUser !== undefined) replaceDefaultUser(folder, options.defaultUser);
    return spawnServer(args);
  };
  let { port, child } = await startOnFreePort(start);
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const user = options.watch ? '' : `berth-operator:${REDIS_PASSWORDS.operator}@`;
  return {
    url: `${options.tls ? 'rediss' : 'redis'}://${user}127.0.0.1:${port}`,
    port,
    stop: async () => {
      process.off('exit', killAtExit);
      await end(child, 'SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
    kill: () => end(child, 'SIGKILL'),
    restart: async () => {
      await end(child, 'SIGTERM');
      child = await start(port);
    },
    pause: () => {
      child.kill('SIGSTOP');
      awaitStop(child.pid!);
    },
    resume: () => child.kill('SIGCONT'),
    replaceCertificate,
  };
}

function replaceDefaultUser(folder: string, line: string): void {
  const path = join(folder, 'users.acl');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^user default .*$/m, line));
}

function writeSentinelFile(folder: string, { port }: RedisServer): string {
  const path = join(folder, 'sentinel.conf');
  const lines = [
    `dir ${folder}`,
    `sentinel monitor mymaster 127.0.0.1 ${port} 1`,
    'sentinel auth-user mymaster berth-operator',
    `sentinel auth-pass mymaster ${REDIS_PASSWORDS.operator}`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** A free port may be taken before the server listens, so this retries. */
async function startOnFreePort(
  start: (port: number) => Promise<ChildProcess>,
): Promise<{ port: number; child: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    try {
      return { port, child: await start(port) };
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

function spawnServer(args: string[]): Promise<ChildProcess> {
  const child = spawn(ensureValkey(), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`Redis ${why}:\n${output}`));
    };
    const timer = setTimeout(fail, START_TIMEOUT_MS, 'did not start in time');
    child.once('exit', (code) => fail(`exited with ${code}`));
    child.stdout!.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
      if (!/Ready to accept connections|\+monitor master/.test(output)) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      child.stdout!.removeAllListeners('data').resume();
      resolve(child);
    });
  });
}

/** SIGSTOP takes effect after a moment on a busy system, and the process may respond until then. */
function awaitStop(pid: number): void {
  if (!existsSync('/proc/self/stat')) return;
  const isStopped = () => /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!isStopped() && performance.now() < deadline)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    // A frozen process handles SIGKILL at once, and must not respond before; other signals only once it continues.
    if (signal !== 'SIGKILL') child.kill('SIGCONT');
    child.kill(signal);
  });
}
