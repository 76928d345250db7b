/** A Kubernetes API for tests without nodes: etcd and kube-apiserver alone, on loopback, no root needed. */

import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinary } from '../../cluster/binaries.ts';
import { formatKubeconfig } from '../../cluster/kubeconfig.ts';
import { hasEnded, killProcess, startProcess, stopProcess } from './child-processes.ts';
import { findFreePort } from './child-program.ts';
import { pollUntil } from './poll.ts';

export interface ControlPlane {
  /** Path of a kubeconfig with all permissions. */
  kubeconfig: string;
  url: string;
  /** The admin's bearer token, for plain `fetch` and for impersonation. */
  token: string;
  /** The CA of the API server's certificate, as PEM. */
  authority: string;
  /** Stops the API server; etcd keeps everything. Watches break, connections are refused. */
  stop(): Promise<void>;
  /** Restarts it on the same address. Resolves when it is ready. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Stops both and removes their files. */
  close(): Promise<void>;
}

const START_TIMEOUT_MS = 90_000;
/** Settings of Go: a third of the processor's time of a start is otherwise spent on a heap that is small. */
const GARBAGE_COLLECTION = { GOGC: '400', GOMEMLIMIT: '1500MiB' };

/**
 * Starts etcd and kube-apiserver (RBAC on) in a temporary folder, in some 6 s once the binaries are built. `flags`: further ones of
 * kube-apiserver. `program`: the one of another version (test/support/kubernetes-versions.ts).
 */
export async function startControlPlane(
  flags: string[] = [],
  program = 'kube-apiserver',
): Promise<ControlPlane> {
  const etcd = await ensureBinary('etcd');
  const apiserver = await ensureBinary(program);
  const folder = mkdtempSync(join(tmpdir(), 'berth-control-plane-'));
  const [apiPort, etcdPort, peerPort] = await findFreePorts(3);
  const url = `https://127.0.0.1:${apiPort}`;
  const token = writeIdentities(folder);

  const processes: ChildProcess[] = [];
  const killAll = () => {
    for (const child of processes) child.kill('SIGKILL');
  };
  process.once('exit', killAll);
  const run = (command: string, args: string[]): ChildProcess => {
    const child = startProcess(command, args, {
      logPath: join(folder, `${args[0]}.log`),
      env: GARBAGE_COLLECTION,
    });
    processes.push(child);
    return child;
  };

  run(etcd, etcdArguments(folder, etcdPort!, peerPort!));
  let server = run(apiserver, [...apiserverArguments(folder, apiPort!, etcdPort!), ...flags]);
  const certificate = join(folder, 'certificates', 'apiserver.crt');
  const waitForServer = () =>
    pollUntil(
      () => {
        if (hasEnded(server)) throw new Error(`kube-apiserver ended:\n${readTail(folder)}`);
        return isReady(url, token);
      },
      `the API server at ${url} (log: ${join(folder, 'kube-apiserver.log')})`,
      START_TIMEOUT_MS,
    );
  const close = async () => {
    process.off('exit', killAll);
    // An API server would wait for those that watch.
    await Promise.all(processes.map(killProcess));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await waitForServer();
  } catch (error) {
    await close();
    throw error;
  }

  const authority = readFileSync(certificate, 'utf8');
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, formatKubeconfig({ server: url, authority, user: { token } }), { mode: 0o600 });
  const stop = () => stopProcess(server);
  const start = async () => {
    server = run(apiserver, [...apiserverArguments(folder, apiPort!, etcdPort!), ...flags]);
    await waitForServer();
  };
  return { kubeconfig, url, token, authority, stop, start, restart: () => stop().then(start), close };
}

/** The admin's token and the key that signs service accounts' tokens. */
function writeIdentities(folder: string): string {
  const token = randomBytes(24).toString('hex');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const write = (name: string, text: string | Buffer) =>
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('tokens.csv', `${token},admin,admin,system:masters\n`);
  write('accounts.key', privateKey.export({ type: 'sec1', format: 'pem' }));
  write('accounts.pub', publicKey.export({ type: 'spki', format: 'pem' }));
  mkdirSync(join(folder, 'certificates'));
  return token;
}

const etcdArguments = (folder: string, port: number, peerPort: number): string[] => [
  'etcd',
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=http://127.0.0.1:${port}`,
  `--advertise-client-urls=http://127.0.0.1:${port}`,
  `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
  '--unsafe-no-fsync',
];

const apiserverArguments = (folder: string, port: number, etcdPort: number): string[] => [
  'kube-apiserver',
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  // An Endpoints object may not contain a loopback address.
  '--endpoint-reconciler-type=none',
  `--secure-port=${port}`,
  `--cert-dir=${join(folder, 'certificates')}`,
  `--etcd-servers=http://127.0.0.1:${etcdPort}`,
  `--token-auth-file=${join(folder, 'tokens.csv')}`,
  '--authorization-mode=RBAC',
  `--service-account-key-file=${join(folder, 'accounts.pub')}`,
  `--service-account-signing-key-file=${join(folder, 'accounts.key')}`,
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  '--service-cluster-ip-range=10.96.0.0/16',
  // No controller creates service accounts here, and pods need none.
  '--disable-admission-plugins=ServiceAccount',
];

const readTail = (folder: string): string =>
  readFileSync(join(folder, 'kube-apiserver.log'), 'utf8').trimEnd().split('\n').slice(-15).join('\n');

/** Without verifying the certificate, which the server writes while it starts. */
function isReady(url: string, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = {
      headers: { authorization: `Bearer ${token}` },
      rejectUnauthorized: false,
      timeout: 2_000,
    };
    get(`${url}/readyz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .once('timeout', () => resolve(false))
      .once('error', () => resolve(false));
  });
}

async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await findFreePort());
  return [...ports];
}
