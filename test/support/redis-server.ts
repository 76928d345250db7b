/** A real redis-server on a free loopback port, with its files in a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './child-program.ts';

export interface RedisServerOptions {
  /** More arguments of redis-server, such as ['--maxmemory', '4mb']. */
  args?: string[];
  /** Starts a Sentinel that watches this port's server as `mymaster`. */
  watch?: number;
  /** Keeps users in a file; the default user then has the password `admin`. */
  aclFile?: boolean;
  appendOnly?: boolean;
}

export interface RedisServer {
  /** Without credentials. */
  readonly url: string;
  readonly port: number;
  /** Password of the default user; undefined without `aclFile`. */
  readonly admin: string | undefined;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
  /** SIGKILL; the files stay for `restart`. */
  kill(): Promise<void>;
  /** Ends the server in good order if it runs and starts it on the same port and files. */
  restart(): Promise<void>;
  /** Freezes the server: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
}

const START_TIMEOUT_MS = 30_000;
const OLDEST_VERSION = 7;

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  ensureRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'berth-redis-'));
  const admin = options.aclFile ? randomBytes(16).toString('hex') : undefined;
  const args = options.watch
    ? [writeSentinelFile(folder, options.watch), '--sentinel', '--bind', '127.0.0.1']
    : ['--bind', '127.0.0.1', '--save', '', '--dir', folder, '--appendfsync', 'always'];
  if (options.appendOnly) args.push('--appendonly', 'yes');
  if (admin) args.push('--aclfile', writeAclFile(folder, admin));
  args.push(...(options.args ?? []));

  let { port, child } = await startOnFreePort(args);
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    admin,
    stop: async () => {
      process.off('exit', killAtExit);
      await end(child, 'SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
    kill: () => end(child, 'SIGKILL'),
    restart: async () => {
      await end(child, 'SIGTERM');
      child = await startOn(port, args);
    },
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  };
}

function writeAclFile(folder: string, password: string): string {
  const path = join(folder, 'users.acl');
  const hash = createHash('sha256').update(password).digest('hex');
  writeFileSync(path, `user default on #${hash} ~* &* +@all\n`);
  return path;
}

function writeSentinelFile(folder: string, port: number): string {
  const path = join(folder, 'sentinel.conf');
  writeFileSync(path, `dir ${folder}\nsentinel monitor mymaster 127.0.0.1 ${port} 1\n`);
  return path;
}

/** A free port may be taken between looking and listening, so this tries again. */
async function startOnFreePort(args: string[]): Promise<{ port: number; child: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    try {
      return { port, child: await startOn(port, args) };
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

function startOn(port: number, args: string[]): Promise<ChildProcess> {
  // The port comes last, since a configuration file must come first.
  const child = spawn('redis-server', [...args, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`redis-server ${why}:\n${output}`));
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

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    // A frozen process takes no other signal than SIGKILL before it goes on.
    child.kill('SIGCONT');
    child.kill(signal);
  });
}

function ensureRedisServer(): void {
  if (readVersion() === null && process.getuid?.() === 0) {
    process.stderr.write('redis-server is missing; installing it with apt-get\n');
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], { stdio: 'ignore' });
  }
  const version = readVersion();
  if (version === null) {
    throw new Error(
      'redis-server is missing: run "apt-get install redis-server" (or your system’s equivalent)',
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_VERSION) {
    throw new Error(`redis-server ${version} is too old: ${OLDEST_VERSION}.0 or newer is needed`);
  }
}

function readVersion(): string | null {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return /v=(\d+\.\d+\.\d+)/.exec(stdout ?? '')?.[1] ?? null;
}
