/** A real S3 server (versitygw) on a free port, over a folder of its own. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinary } from '../../cluster/binaries.ts';
import { findFreePort } from './child-program.ts';
import { pollUntil } from './poll.ts';

export interface S3ServerOptions {
  region?: string;
  /** Address that it listens on; loopback if absent. */
  host?: string;
  /** Base domain of virtual hosts, such as `s3.localhost`. */
  virtualDomain?: string;
}

export interface S3Server {
  readonly port: number;
  /** As `http://127.0.0.1:1234`. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** A folder is a bucket, a file in it an object. */
  readonly folder: string;
  createBucket(name: string): void;
  /** Valid keys without any permission. */
  createUser(): { accessKeyId: string; secretAccessKey: string };
  /** Freezes the server: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const KEYS = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'test-secret-access-key' };

export async function startS3(options: S3ServerOptions = {}): Promise<S3Server> {
  const program = await ensureBinary('versitygw');
  const region = options.region ?? 'us-east-1';
  const root = mkdtempSync(join(tmpdir(), 'berth-s3-'));
  const folder = join(root, 'buckets');
  const metadata = join(root, 'metadata');
  const users = join(root, 'users');
  for (const path of [folder, metadata, users]) mkdirSync(path);
  const { host = '127.0.0.1' } = options;
  const port = await findFreePort([host]);
  const args = ['--port', `${host}:${port}`, '--region', region, '--iam-dir', users, '--quiet'];
  if (options.virtualDomain) args.push('--virtual-domain', options.virtualDomain);
  // Not every filesystem supports extended attributes.
  const child = spawn(program, [...args, 'posix', '--sidecar', metadata, folder], {
    env: { ROOT_ACCESS_KEY_ID: KEYS.accessKeyId, ROOT_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
    stdio: 'ignore',
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const endpoint = `http://${host}:${port}`;
  await waitUntilAnswering(endpoint, child);
  return {
    port,
    endpoint,
    region,
    ...KEYS,
    folder,
    createUser: () => {
      const user = { accessKeyId: 'TESTUSER', secretAccessKey: 'test-user-secret' };
      const admin = ['--access', KEYS.accessKeyId, '--secret', KEYS.secretAccessKey, '--region', region];
      const create = ['create-user', '--access', user.accessKeyId, '--secret', user.secretAccessKey];
      const target = ['--endpoint-url', endpoint];
      execFileSync(program, ['admin', ...admin, ...target, ...create, '--role', 'user'], { stdio: 'pipe' });
      return user;
    },
    createBucket: (name) => mkdirSync(join(folder, name)),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill: () => end(child, 'SIGKILL'),
    stop: async () => {
      process.off('exit', killAtExit);
      await end(child, 'SIGKILL');
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function waitUntilAnswering(endpoint: string, child: ChildProcess): Promise<void> {
  const isAnswering = async () => {
    if (child.exitCode !== null) throw new Error(`versitygw exited with ${child.exitCode}`);
    const answer = await fetch(endpoint).catch(() => null);
    await answer?.arrayBuffer();
    return answer !== null;
  };
  await pollUntil(isAnswering, 'the start of versitygw', START_TIMEOUT_MS);
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}
