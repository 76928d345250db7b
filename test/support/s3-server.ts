/** A real S3 server (versitygw) on a free port, over a folder of its own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBinary } from '../../cluster/binaries.ts';
import { findFreePort } from './child-program.ts';
import { answersHTTP, makeFolder, startServer } from './server-process.ts';

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

const KEYS = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'test-secret-access-key' };

export async function startS3(options: S3ServerOptions = {}): Promise<S3Server> {
  const program = await ensureBinary('versitygw');
  const region = options.region ?? 'us-east-1';
  const root = makeFolder('s3');
  const folder = join(root, 'buckets');
  const metadata = join(root, 'metadata');
  const users = join(root, 'users');
  for (const path of [folder, metadata, users]) mkdirSync(path);
  const { host = '127.0.0.1' } = options;
  const port = await findFreePort([host]);
  const args = ['--port', `${host}:${port}`, '--region', region, '--iam-dir', users, '--quiet'];
  if (options.virtualDomain) args.push('--virtual-domain', options.virtualDomain);
  const endpoint = `http://${host}:${port}`;
  const { child, kill, stop } = await startServer({
    program,
    // Not every filesystem supports extended attributes.
    args: [...args, 'posix', '--sidecar', metadata, folder],
    env: { ROOT_ACCESS_KEY_ID: KEYS.accessKeyId, ROOT_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
    folder: root,
    isReady: () => answersHTTP(endpoint),
  });
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
    kill,
    stop,
  };
}
