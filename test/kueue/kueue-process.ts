/** Kueue as a process next to an API server, installed by the manifests of its Go module, with the queues of the tests. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { ensureBinary, ensureBuilt, findModule, keepFolder } from '../../cluster/binaries.ts';
import { runCommand } from '../../cluster/commands.ts';
import { hasEnded, killProcess, startProcess } from '../support/child-processes.ts';
import { findFreePort } from '../support/child-program.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createKubeRequest } from '../support/kube-request.ts';
import { pollUntil } from '../support/poll.ts';

const QUEUES = join(import.meta.dirname, 'queues.yaml');
const NAMESPACE = 'kueue-system';
const SERVICE = 'kueue-webhook-service';
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/kueue-webhook-server-cert`;
/** What the process stands for, and servers that it does not start here. */
const LEFT_OUT = ['Deployment', 'Service', 'APIService'];
/** Those that matter to Berth's pods, and are on by default. */
export const FRAMEWORKS = ['pod', 'deployment'];
const START_MS = 300_000;

export interface KueueProcess {
  /** The end of its log. */
  readLog(): string;
  close(): Promise<void>;
}

interface Manifest {
  kind: string;
  metadata: { name: string };
}

/** Resolves once its webhooks answer and the queues are there. `settings`: replace those of the same names. Throws with the end of its log. */
export async function startKueue(controlPlane: ControlPlane, settings: object = {}): Promise<KueueProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-kueue-'));
  const kubectl = [await ensureBinary('kubectl'), '--kubeconfig', controlPlane.kubeconfig];
  const apply = async (objects: object[]): Promise<void> => {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    const options = ['--server-side', '--cache-dir', join(folder, 'cache'), '-f', '-'];
    await runCommand([...kubectl, 'apply', ...options], { input: JSON.stringify(list) });
  };
  const port = await findFreePort();
  const manifests = readDocuments(await runCommand([...kubectl, 'kustomize', await findManifests()]));
  await apply(manifests.filter(({ kind }) => kind === 'Namespace'));
  await apply(manifests.filter(({ kind }) => !LEFT_OUT.includes(kind)).map((object) => callAt(port, object)));
  await apply([describeService()]);

  const certificates = join(folder, 'certificates');
  mkdirSync(certificates);
  const settingsPath = join(folder, 'settings.yaml');
  const webhook = { host: '127.0.0.1', port, certDir: certificates };
  writeFileSync(settingsPath, await describeSettings({ webhook, ...settings }));
  const logPath = join(folder, 'kueue.log');
  const flags = [`--config=${settingsPath}`, '--zap-log-level=2', '--feature-gates=VisibilityOnDemand=false'];
  const kueue = startProcess(await ensureBinary('kueue'), ['kueue', ...flags], {
    logPath,
    env: { KUBECONFIG: controlPlane.kubeconfig },
  });
  const readLog = () => readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
  const close = async () => {
    await killProcess(kueue);
    rmSync(folder, { recursive: true, force: true });
  };
  const until = (what: string, isDone: () => Promise<boolean>) =>
    pollUntil(
      async () => {
        if (hasEnded(kueue)) throw new Error('Kueue has ended');
        return isDone();
      },
      what,
      START_MS,
      500,
    );
  try {
    await until('its certificates', () => mountSecret(controlPlane, certificates));
    const queues = readDocuments(readFileSync(QUEUES, 'utf8'));
    await until('its webhooks', () =>
      apply(queues).then(
        () => true,
        () => false,
      ),
    );
  } catch (error) {
    const log = readLog();
    await close();
    throw new Error(`${(error as Error).message}\n${log}`, { cause: error });
  }
  return { readLog, close };
}

const readDocuments = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest);

/** The folder for `kubectl kustomize`, of the version that is built. */
async function findManifests(): Promise<string> {
  const config = join(dirname(await ensureBuilt('kueue')), 'config');
  await keepFolder(config, async () => join(await findModule('kueue'), 'config'));
  return join(config, 'default');
}

/** The API server resolves a Service of this type by itself; others need a kube-proxy. */
const describeService = (): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: SERVICE, namespace: NAMESPACE },
  spec: { type: 'ExternalName', externalName: 'localhost' },
});

/** Its usual settings, but for what this machine has for it, and for one namespace. */
const describeSettings = async (settings: object): Promise<string> =>
  stringify({
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    namespace: NAMESPACE,
    health: { healthProbeBindAddress: `127.0.0.1:${await findFreePort()}` },
    metrics: { bindAddress: `127.0.0.1:${await findFreePort()}` },
    leaderElection: { leaderElect: false },
    managedJobsNamespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
    integrations: { frameworks: FRAMEWORKS },
    ...settings,
  });

/** Kueue makes its certificates itself, and waits for the kubelet to mount them. */
async function mountSecret(controlPlane: ControlPlane, folder: string): Promise<boolean> {
  const { body } = await createKubeRequest(controlPlane)('GET', SECRET);
  const files = (body.data ?? {}) as Record<string, string>;
  for (const [name, value] of Object.entries(files))
    writeFileSync(join(folder, name), Buffer.from(value, 'base64'));
  return files['tls.crt'] !== undefined;
}

/** Webhooks call this port of Kueue's Service. */
function callAt<T>(port: number, value: T): T {
  if (Array.isArray(value)) return value.map((item) => callAt(port, item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, callAt(port, inner)]);
  const copy = Object.fromEntries(entries);
  return copy.name === SERVICE && copy.path !== undefined ? { ...copy, port } : copy;
}
