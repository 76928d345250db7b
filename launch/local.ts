/** `make run`: Redis, a simulator for each model and a gateway, from the YAML that `kubectl apply` takes. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { GATEWAY_ENV } from '../contract/gateway-environment.ts';
import { type Child, startChild, stopChild, waitForURL } from './child-process.ts';
import { readEndpoints, removeEndpoints, writeEndpoints } from './endpoints-file.ts';
import { findBasePort } from './free-ports.ts';
import { writeGuide } from './guide.ts';
import {
  describeEndpoints,
  LOOPBACK,
  type LocalPlan,
  type PlannedDeployment,
  planLocal,
} from './local-plan.ts';
import { publishLocal } from './local-publication.ts';
import { startLocalRedis } from './local-redis.ts';
import { readManifests } from './manifests.ts';

/** Tests run instances of their own in other folders. */
const STATE_FOLDER = process.env.BERTH_STATE ?? '.berth';
const ENDPOINTS = `${STATE_FOLDER}/endpoints.json`;
const DEFAULT_PORT = 8100;

const children: Child[] = [];

async function main(): Promise<void> {
  refuseSecondInstance();
  const manifests = readManifests([process.env.MODELS ?? 'examples/local']);
  const base = await findBasePort(Number(process.env.PORT ?? DEFAULT_PORT), (port) =>
    listPorts(planLocal(manifests.deployments, port)),
  );
  const plan = planLocal(manifests.deployments, base);
  const masterKey = readMasterKey();

  const redis = startLocalRedis(plan.redisPort, `${STATE_FOLDER}/redis`);
  children.push(redis);
  const simulators = plan.deployments.filter(({ controlPort }) => controlPort !== null).map(startSimulator);
  children.push(...simulators);
  await publishLocal({ plan, manifests, masterKey, redis });
  await startGateway(plan);

  const endpoints = describeEndpoints(plan, masterKey);
  writeEndpoints(endpoints, ENDPOINTS);
  console.log(`\n${writeGuide(endpoints)}\n\nCtrl-C stops it. Logs: ${STATE_FOLDER}/logs/\n`);
}

function refuseSecondInstance(): void {
  const running = readEndpoints(ENDPOINTS);
  if (running?.mode === 'cluster')
    throw new Error('make cluster is up: .berth/endpoints.json is its own; run make cluster-down first');
}

const listPorts = (plan: LocalPlan): number[] => [
  plan.frontPort,
  plan.redisPort,
  plan.adminPort,
  plan.metricsPort,
  ...plan.deployments.flatMap(({ port, enginePort, controlPort }) => [
    port,
    enginePort,
    ...(controlPort ? [controlPort] : []),
  ]),
];

/** Made once, so that keys survive a restart. */
function readMasterKey(): string {
  const path = `${STATE_FOLDER}/master-key`;
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

async function startGateway(plan: LocalPlan): Promise<void> {
  const file = `${STATE_FOLDER}/gateway.json`;
  writeFileSync(
    file,
    JSON.stringify({
      frontPort: plan.frontPort,
      deployments: plan.deployments.map(({ config, port, enginePort, controlPort }) => ({
        namespace: config.namespace,
        name: config.name,
        port,
        engineURL: controlPort === null ? null : `http://${LOOPBACK}:${enginePort}`,
        healthPath: '/health',
      })),
    }),
  );
  const gateway = startChild({
    name: 'gateway',
    command: process.execPath,
    args: ['gateway/main.ts'],
    env: {
      [GATEWAY_ENV.role]: 'local',
      [GATEWAY_ENV.redisURL]: `redis://${LOOPBACK}:${plan.redisPort}`,
      [GATEWAY_ENV.adminPort]: String(plan.adminPort),
      [GATEWAY_ENV.metricsPort]: String(plan.metricsPort),
      GATEWAY_LOCAL_FILE: file,
    },
    logPath: `${STATE_FOLDER}/logs/gateway.log`,
  });
  children.push(gateway);
  await waitForURL(gateway, `http://${LOOPBACK}:${plan.adminPort}/readyz`);
}

/** Gateway first, so that nothing is served by half; Redis last. */
async function stopAll(): Promise<void> {
  removeEndpoints(ENDPOINTS);
  for (const child of children.toReversed()) await stopChild(child);
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
