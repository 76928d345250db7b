/** `make run`: Berth on this machine, from the YAML that `kubectl apply` takes. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { FRONT_SECRET_FILES } from '../api/names.ts';
import { tryProcessLock } from '../machine/process-lock.ts';
import { Closers } from './closers.ts';
import { LOCAL_ENDPOINTS, readEndpoints, removeEndpoints, writeEndpoints } from './endpoints-file.ts';
import { readRunEnvironment, STATE_FOLDER } from './environment.ts';
import { findBasePort } from './free-ports.ts';
import { writeGuide } from './guide.ts';
import {
  type CustomerBucket,
  canServeBuckets,
  describeBuckets,
  readyURL,
  startBuckets,
} from './local-buckets.ts';
import { CONSOLE_TOKEN_FILE, ensurePage, startConsole } from './local-console.ts';
import { describeEndpoints, type LocalInstance } from './local-endpoints.ts';
import { describeBucketObjects } from './local-objects.ts';
import {
  DEFAULT_NAMESPACE,
  isApartFromPods,
  LOOPBACK,
  type LocalPorts,
  listPodPorts,
  listPorts,
  planPorts,
} from './local-plan.ts';
import { listObstacles, waitForModel, waitForObjects } from './local-readiness.ts';
import { type LocalStack, startLocalStack } from './local-stack.ts';
import { type ManifestObject, readManifests } from './manifests.ts';
import { prepareOwnModel } from './own-model/own-model.ts';
import { listOwnRun, RUN_LOCK, unlistOwnRun } from './own-runs.ts';
import { type Child, describeExit, stopChild, waitForURL } from './processes/child-process.ts';
import { killGroups } from './processes/process-groups.ts';

enableCompileCache();

const READY_TIMEOUT_MS = 60_000;
const REFRESH_DELAY_MS = 50;
/** make forwards a signal that its whole group received: both count as one. */
const SAME_SIGNAL_MS = 500;
/** Kinds that the endpoints file describes, beside secrets. */
const DESCRIBED_KINDS = new Set(['pods', 'modeldeployments.berth.dev', 'storagecredentials.berth.dev']);

/** undefined while another process has the folder. */
let releaseLock: (() => void) | undefined;
/** Closes everything that runs, as soon as it is started. */
const closers = new Closers();
const children: Child[] = [];
let stack: LocalStack | undefined;

async function main(): Promise<void> {
  refuseSecondInstance();
  // A leftover file would refer to unused ports.
  removeEndpoints(LOCAL_ENDPOINTS);
  const { model, models, port, hub, hubToken, args } = readRunEnvironment();
  const place = { stateFolder: STATE_FOLDER, namespace: DEFAULT_NAMESPACE };
  const own = model ? await prepareOwnModel(model, { ...place, hub, token: hubToken, args }) : undefined;
  const manifests = [...(own ? [{ file: 'MODEL', object: own }] : []), ...readManifests(models)];
  const count = manifests.filter(({ object: { kind } }) => kind === 'ModelDeployment').length;
  const podPorts = listPodPorts(manifests);
  const base = await findBasePort(
    port,
    (first) => listPorts(planPorts(first), count),
    (first) => isApartFromPods(planPorts(first), podPorts),
  );
  if (base !== port)
    console.error(`Ports from ${port} on are in use, here or in pods: using those from ${base} on.`);
  const ports = planPorts(base);
  const masterKey = ensureSecret(FRONT_SECRET_FILES.masterKey);
  const token = ensureSecret(CONSOLE_TOKEN_FILE);

  // Built in parallel, and only if its sources changed.
  const page = ensurePage(STATE_FOLDER);
  page.catch(() => {});
  const buckets = canServeBuckets() ? describeBuckets(ports.buckets) : [];
  if (buckets.length > 0) await serveBuckets(ports.buckets);
  const objects = [...manifests, ...describeBucketExamples(buckets)];
  stack = await startLocalStack({
    ports,
    manifests: objects,
    masterKey,
    token,
    folder: STATE_FOLDER,
    closers,
  });
  const { api, node, endpoints } = stack;
  await waitForObjects(api, READY_TIMEOUT_MS);
  const hasConsole = await serveConsole(ports, page, masterKey);
  // The file would be left behind.
  if (isStopping) return;
  const instance: LocalInstance = {
    api,
    ports,
    masterKey,
    token,
    hasConsole,
    buckets,
    portOf: (deployment) => endpoints.portOf(deployment),
    addressOf: (uid) => node.addressOf(uid),
  };
  // Also while a model of one's own loads, which may take an hour: its logs and state are of interest then.
  keepEndpoints(instance);
  if (own) await waitForOwnModel(api, own.metadata.name);
  if (isStopping) return;
  const examples = new Set(buckets.map(({ name }) => name));
  for (const { kind, namespace, name, reason, message } of listObstacles(api))
    if (!(kind === 'StorageCredential' && examples.has(name)))
      console.error(`${kind} ${namespace}/${name} is not ready: ${reason}: ${message}`);
  console.log(
    `\n${writeGuide(describeEndpoints(instance), STATE_FOLDER)}\n\nCtrl-C stops it. Logs: ${STATE_FOLDER}/logs/\n`,
  );
}

async function waitForOwnModel(api: LocalStack['api'], name: string): Promise<void> {
  const logs = `${STATE_FOLDER}/logs/${DEFAULT_NAMESPACE}_${name}-*_engine.log`;
  console.error(`loading ${name} … (the engine's log: ${logs})`);
  const report = (reason: string) => console.error(`${name}: ${reason}`);
  await waitForModel(api, { namespace: DEFAULT_NAMESPACE, name }, report).catch((error: Error) => {
    throw new Error(`${error.message}\nThe engine's log: ${logs}`);
  });
}

const describeBucketExamples = (buckets: readonly CustomerBucket[]): ManifestObject[] =>
  buckets.flatMap((bucket) => describeBucketObjects(bucket, DEFAULT_NAMESPACE));

/** Writes the file now, and whenever its content changes, such as a rolled secret or a new deployment. */
function keepEndpoints(instance: LocalInstance): void {
  const first = describeEndpoints(instance);
  let written = JSON.stringify(first);
  let timer: NodeJS.Timeout | undefined;
  writeEndpoints(first, LOCAL_ENDPOINTS);
  const refresh = () => {
    clearTimeout(timer);
    timer = undefined;
    const endpoints = describeEndpoints(instance);
    const text = JSON.stringify(endpoints);
    if (isStopping || text === written) return;
    written = text;
    writeEndpoints(endpoints, LOCAL_ENDPOINTS);
  };
  instance.api.store.listen(({ key }) => {
    // A rolled secret must be in the file before the call that rolled it returns.
    if (key === 'secrets' || key === 'workspaces.berth.dev') refresh();
    else if (DESCRIBED_KINDS.has(key)) timer ??= setTimeout(refresh, REFRESH_DELAY_MS);
  });
}

/** Returns whether it started: endpoints serve without it. */
async function serveConsole(ports: LocalPorts, page: Promise<string>, masterKey: string): Promise<boolean> {
  try {
    const child = startConsole(ports, { folder: STATE_FOLDER, page: await page, masterKey });
    addChild(child);
    await waitForURL(child, `http://${LOOPBACK}:${ports.console}/readyz`);
    return true;
  } catch (error) {
    if (!isStopping) console.error(`The console did not start: ${(error as Error).message}`);
    return false;
  }
}

/** Two in one folder would share a Redis, and the first to end would take the other's files along. */
function refuseSecondInstance(): void {
  const running = readEndpoints(LOCAL_ENDPOINTS);
  if (running?.mode === 'cluster')
    throw new Error(`make cluster is running and owns ${LOCAL_ENDPOINTS}: run make cluster-down first`);
  // Secrets, logs and results of all models are in it.
  mkdirSync(STATE_FOLDER, { recursive: true });
  chmodSync(STATE_FOLDER, 0o700);
  const lock = tryProcessLock(join(STATE_FOLDER, RUN_LOCK.file), RUN_LOCK.program);
  if ('heldBy' in lock)
    throw new Error(
      `make run is already running (PID ${lock.heldBy}; ${STATE_FOLDER}/endpoints.json has its addresses): ` +
        `stop it with Ctrl-C or "kill ${lock.heldBy}", or set BERTH_STATE to another folder to run a second one`,
    );
  releaseLock = lock.release;
  try {
    listOwnRun(STATE_FOLDER);
  } catch (error) {
    console.error(`berth will find this only by --folder: ${(error as Error).message}`);
  }
}

/** Created once, so that keys and sign-ins survive a restart. */
function ensureSecret(file: string): string {
  const path = join(STATE_FOLDER, file);
  if (!existsSync(path)) {
    mkdirSync(STATE_FOLDER, { recursive: true });
    writeFileSync(path, randomBytes(32).toString('base64url'), { mode: 0o600 });
  }
  return readFileSync(path, 'utf8').trim();
}

async function serveBuckets(port: number): Promise<void> {
  const server = await startBuckets(port, STATE_FOLDER);
  addChild(server);
  await waitForURL(server, readyURL(port));
}

function addChild(child: Child): void {
  children.push(child);
  closers.add(() => stopChild(child));
}

let isStopping = false;
async function leave(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  if (releaseLock) {
    removeEndpoints(LOCAL_ENDPOINTS);
    unlistOwnRun(STATE_FOLDER);
    await closers.close();
    releaseLock();
  }
  process.exit(code);
}

let askedAt: number | undefined;
function onSignal(): void {
  askedAt ??= performance.now();
  if (!isStopping) void leave(0);
  else if (performance.now() - askedAt > SAME_SIGNAL_MS) {
    console.error('Killed.');
    releaseLock?.();
    process.exit(1);
  }
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);

// Otherwise one bug would leave Redis, the front and all engines running.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => {
    console.error(error);
    void leave(1);
  });
process.once('exit', killGroups);

main().then(watchChildren, (error: Error) => {
  if (!isStopping) console.error(error.message);
  void leave(1);
});

function watchChildren(): void {
  for (const child of [...children, ...(stack?.children ?? [])])
    void child.ended.then(() => {
      if (!isStopping) console.error(describeExit(child));
    });
}
