/** `make run`: Redis, a simulator for each model and a gateway, from the YAML that `kubectl apply` takes. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FRONT_SECRET_FILES } from '../contract/names.ts';
import { tryProcessLock } from '../tools/process-lock.ts';
import { type Child, startChild, stopChild, waitForURL } from './child-process.ts';
import {
  LOCAL_ENDPOINTS,
  readEndpoints,
  removeEndpoints,
  STATE_FOLDER,
  writeEndpoints,
} from './endpoints-file.ts';
import { findBasePort } from './free-ports.ts';
import { writeGuide } from './guide.ts';
import { startLocalCluster } from './local-api/local-cluster.ts';
import { canServeBuckets, describeBuckets, readyURL, startBuckets } from './local-buckets.ts';
import { CONSOLE_TOKEN_FILE, ensurePage, startConsole } from './local-console.ts';
import { toCredential } from './local-credentials.ts';
import { startGateway } from './local-gateway.ts';
import {
  DEFAULT_NAMESPACE,
  describeEndpoints,
  LOOPBACK,
  type LocalPlan,
  localRedisURL,
  type PlannedDeployment,
  planLocal,
} from './local-plan.ts';
import { connectLocalRedis, endPublication } from './local-publication.ts';
import { startLocalRedis } from './local-redis.ts';
import { readManifests } from './manifests.ts';

const DEFAULT_PORT = 8100;

/** undefined while the folder is another process's. */
let releaseLock: (() => void) | undefined;
const children: Child[] = [];
/** What this process holds open itself. */
const services: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  refuseSecondInstance();
  // One that was left behind would lead to ports where nothing is.
  removeEndpoints(LOCAL_ENDPOINTS);
  const manifests = readManifests([process.env.MODELS ?? 'examples/local']);
  const base = await findBasePort(Number(process.env.PORT ?? DEFAULT_PORT), (port) =>
    listPorts(planLocal(manifests.deployments, port)),
  );
  const plan = planLocal(manifests.deployments, base);
  const masterKey = readMadeSecret(FRONT_SECRET_FILES.masterKey);

  // Built beside everything else, and only where its sources changed.
  const page = ensurePage(STATE_FOLDER);
  page.catch(() => {});

  const redis = startLocalRedis(plan.redisPort, `${STATE_FOLDER}/redis`, masterKey);
  children.push(redis);
  const simulators = plan.deployments.filter(({ controlPort }) => controlPort !== null).map(startSimulator);
  children.push(...simulators);
  const buckets = canServeBuckets() ? describeBuckets(plan.bucketsPort) : [];
  if (buckets.length > 0) await serveBuckets(plan.bucketsPort);

  const examples = buckets.map((bucket) => toCredential(bucket, DEFAULT_NAMESPACE));
  const token = readMadeSecret(CONSOLE_TOKEN_FILE);
  let refreshEndpoints = () => {};
  const connection = await connectLocalRedis(localRedisURL(plan.redisPort, masterKey, 'operator'), redis);
  services.push(() => connection.close());
  const api = await startLocalCluster({
    manifests,
    examples,
    plan,
    masterKey,
    token,
    redis: connection.redis,
    folder: STATE_FOLDER,
    onChange: () => refreshEndpoints(),
  });
  services.push(() => api.close());
  for (const { name, fault } of api.listFaults())
    if (examples.every((example) => example.name !== name))
      console.error(`StorageCredential/${name} is not verified: ${fault}`);
  await endPublication(connection.redis, masterKey);
  await serveAll(plan, simulators, masterKey);
  const hasConsole = await serveConsole(plan, page, masterKey);

  const instance = { plan, masterKey, buckets, token, hasConsole };
  const writeCurrent = () => {
    const signingSecret = api.findSigningSecret(DEFAULT_NAMESPACE);
    const endpoints = describeEndpoints({ ...instance, signingSecret, credentials: api.listCredentials() });
    writeEndpoints(endpoints, LOCAL_ENDPOINTS);
    return endpoints;
  };
  const endpoints = writeCurrent();
  // A secret that is rolled later is in the file before whoever rolled it is answered.
  refreshEndpoints = () => {
    if (!isStopping) writeCurrent();
  };
  console.log(`\n${writeGuide(endpoints, STATE_FOLDER)}\n\nCtrl-C stops it. Logs: ${STATE_FOLDER}/logs/\n`);
}

/** Whether there is one: endpoints serve without it. */
async function serveConsole(plan: LocalPlan, page: Promise<string>, masterKey: string): Promise<boolean> {
  try {
    const child = startConsole(plan, { folder: STATE_FOLDER, page: await page, masterKey });
    children.push(child);
    await waitForURL(child, `http://${LOOPBACK}:${plan.consolePort}/readyz`);
    return true;
  } catch (error) {
    console.error(`There is no console: ${(error as Error).message}`);
    return false;
  }
}

/** Two in one folder would share a Redis, and the first to end would take the other's files along. */
function refuseSecondInstance(): void {
  const running = readEndpoints(LOCAL_ENDPOINTS);
  if (running?.mode === 'cluster')
    throw new Error(`make cluster is up: ${LOCAL_ENDPOINTS} is its own; run make cluster-down first`);
  const lock = tryProcessLock(join(STATE_FOLDER, 'run.lock'), 'launch/local.ts');
  if ('heldBy' in lock)
    throw new Error(
      `make run is up already, as process ${lock.heldBy} (${STATE_FOLDER}/endpoints.json has its addresses): ` +
        `stop it with Ctrl-C or "kill ${lock.heldBy}", or set BERTH_STATE to another folder to run a second one`,
    );
  releaseLock = lock.release;
}

const listPorts = (plan: LocalPlan): number[] => [
  plan.frontPort,
  plan.redisPort,
  plan.adminPort,
  plan.metricsPort,
  plan.storagePort,
  plan.bucketsPort,
  plan.apiPort,
  plan.consolePort,
  plan.consoleMetricsPort,
  ...plan.deployments.flatMap(({ port, enginePort, controlPort }) => [
    port,
    enginePort,
    ...(controlPort ? [controlPort] : []),
  ]),
];

/** Made once, so that keys and sign-ins survive a restart. */
function readMadeSecret(file: string): string {
  const path = join(STATE_FOLDER, file);
  if (!existsSync(path)) {
    mkdirSync(STATE_FOLDER, { recursive: true });
    writeFileSync(path, randomBytes(32).toString('base64url'), { mode: 0o600 });
  }
  return readFileSync(path, 'utf8').trim();
}

const startSimulator = ({ config, enginePort, controlPort, env }: PlannedDeployment): Child =>
  startChild({
    name: `simulator ${config.namespace}/${config.name}`,
    command: process.execPath,
    args: ['simulator/main.ts'],
    env: {
      SIMULATOR_HOST: LOOPBACK,
      SIMULATOR_PORT: String(enginePort),
      SIMULATOR_CONTROL_HOST: LOOPBACK,
      SIMULATOR_CONTROL_PORT: String(controlPort),
      SIMULATOR_MODEL: config.servedModelName,
      SIMULATOR_KIND: config.kind,
      ...env,
    },
    logPath: `${STATE_FOLDER}/logs/simulator-${config.namespace}-${config.name}.log`,
  });

async function serveBuckets(port: number): Promise<void> {
  const server = await startBuckets(port, STATE_FOLDER);
  children.push(server);
  await waitForURL(server, readyURL(port));
}

async function serveAll(plan: LocalPlan, simulators: readonly Child[], masterKey: string): Promise<void> {
  const gateway = startGateway(plan, STATE_FOLDER, masterKey);
  children.push(gateway);
  await waitForURL(gateway, `http://${LOOPBACK}:${plan.adminPort}/readyz`, { needs: simulators });
}

/** Gateway first, so that nothing is served by half; Redis last. */
async function stopAll(): Promise<void> {
  if (!releaseLock) return;
  removeEndpoints(LOCAL_ENDPOINTS);
  const [redis, ...others] = children;
  for (const child of others.reverse()) await stopChild(child);
  for (const close of services.reverse()) await close();
  if (redis) await stopChild(redis);
  releaseLock();
}

let isStopping = false;
async function leave(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  await stopAll();
  process.exit(code);
}
process.once('SIGINT', () => void leave(0));
process.once('SIGTERM', () => void leave(0));
process.once('SIGHUP', () => void leave(0));

main().then(watchChildren, (error: Error) => {
  console.error(error.message);
  void leave(1);
});

function watchChildren(): void {
  for (const child of children)
    void child.ended.then(() => {
      if (!isStopping) console.error(`${child.name} has ended; see ${child.logPath}`);
    });
}
