/** Decides what `make run` starts: ports, simulators, keys. Pure. */
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { buildGatewayConfig } from '../contract/gateway-config.ts';
import { deriveSecret } from '../contract/identity.ts';
import type { ModelDeployment } from '../contract/model-deployment.ts';
import { formatApiKey, formatSigningSecret } from '../contract/secret-texts.ts';
import type { StorageKeys } from '../contract/storage-keys.ts';
import type { RedisPasswords, RedisUser } from '../tools/redis-files.ts';
import type { EndpointEntry, EndpointsFile } from './endpoints-file.ts';
import { describeMedia } from './media-facts.ts';

export const LOOPBACK = '127.0.0.1';
export const DEFAULT_NAMESPACE = 'default';

/** Offsets from the base port (8100 by default): endpoints, their simulators' control ports and their engines. */
const CONTROL_OFFSET = 1_000;
const ENGINE_OFFSET = 2_000;
const REDIS_OFFSET = 90;
const ADMIN_OFFSET = 91;
const METRICS_OFFSET = 92;
const STORAGE_OFFSET = 93;
const BUCKETS_OFFSET = 94;
const API_OFFSET = 95;
const CONSOLE_OFFSET = 96;
const CONSOLE_METRICS_OFFSET = 97;

export interface PlannedDeployment {
  config: GatewayConfig;
  port: number;
  enginePort: number;
  /** The simulator's control port; null when nothing is started for it. */
  controlPort: number | null;
  /** Environment of the simulator, as the spec gives it. */
  env: Record<string, string>;
}

export interface LocalPlan {
  deployments: PlannedDeployment[];
  frontPort: number;
  redisPort: number;
  adminPort: number;
  metricsPort: number;
  /** Of the links to results. */
  storagePort: number;
  /** Of the S3 server that stands for a customer's. */
  bucketsPort: number;
  /** Of what stands for the cluster's API server. */
  apiPort: number;
  consolePort: number;
  consoleMetricsPort: number;
}

/** Ports for every deployment, in the order of the manifests; throws for an engine that cannot run here. */
export function planLocal(deployments: ModelDeployment[], basePort: number): LocalPlan {
  return {
    deployments: deployments.map((deployment, index) => planDeployment(deployment, basePort + 1 + index)),
    frontPort: basePort,
    redisPort: basePort + REDIS_OFFSET,
    adminPort: basePort + ADMIN_OFFSET,
    metricsPort: basePort + METRICS_OFFSET,
    storagePort: basePort + STORAGE_OFFSET,
    bucketsPort: basePort + BUCKETS_OFFSET,
    apiPort: basePort + API_OFFSET,
    consolePort: basePort + CONSOLE_OFFSET,
    consoleMetricsPort: basePort + CONSOLE_METRICS_OFFSET,
  };
}

function planDeployment(deployment: ModelDeployment, port: number): PlannedDeployment {
  const { metadata, spec } = deployment;
  if (spec.engine.preset !== 'simulator')
    throw new Error(
      `ModelDeployment/${metadata.name}: engine.preset ${spec.engine.preset} needs a cluster; make run starts simulator engines only`,
    );
  return {
    config: buildGatewayConfig(deployment),
    port,
    enginePort: port + ENGINE_OFFSET,
    controlPort: spec.paused ? null : port + CONTROL_OFFSET,
    env: Object.fromEntries(spec.engine.env.map(readVariable)),
  };
}

function readVariable(variable: Record<string, unknown>): [string, string] {
  if (typeof variable.name === 'string' && typeof variable.value === 'string')
    return [variable.name, variable.value];
  throw new Error(`engine.env ${String(variable.name)}: make run knows plain values only, no valueFrom`);
}

/** A workspace's key in `make run`: the same at each start, so that scripts keep working. */
export const deriveLocalKey = (masterKey: string, namespace: string): string =>
  formatApiKey(deriveSecret(masterKey, `local-key/${namespace}`));

/** Of Berth's own users in the Redis of `make run`. */
export const deriveRedisPasswords = (masterKey: string): RedisPasswords => ({
  operator: deriveSecret(masterKey, 'local-redis/operator').toString('hex'),
  front: deriveSecret(masterKey, 'local-redis/front').toString('hex'),
  console: deriveSecret(masterKey, 'local-redis/console').toString('hex'),
});

/** The address of the Redis of `make run`, with the user's password. */
export const localRedisURL = (port: number, masterKey: string, user: RedisUser): string =>
  `redis://berth-${user}:${deriveRedisPasswords(masterKey)[user]}@${LOOPBACK}:${port}`;

/** What signs a workspace's webhooks in `make run`, where its Workspace names no Secret. */
export const deriveLocalSigningSecret = (masterKey: string, namespace: string): string =>
  formatSigningSecret(deriveSecret(masterKey, `local-signing/${namespace}`));

export interface LocalInstance {
  plan: LocalPlan;
  masterKey: string;
  /** Of the default workspace. */
  signingSecret: string;
  /** What signs in to the console, and opens the API to the objects. */
  token: string;
  hasConsole: boolean;
  credentials: { namespace: string; id: number; bucket: string; fault: string | null }[];
  /** Of the S3 server, where there is one. */
  buckets: { endpoint: string; bucket: string; keys: StorageKeys }[];
}

export function describeEndpoints(instance: LocalInstance): EndpointsFile {
  const { plan, masterKey, signingSecret, token, hasConsole, credentials, buckets } = instance;
  const entries = plan.deployments.map((planned) => describeDeployment(planned, masterKey));
  const ofNamespace = (namespace: string) => {
    const deployments = entries.filter((entry) => entry.namespace === namespace);
    return deployments.length === 0
      ? null
      : { namespace, apiKey: deriveLocalKey(masterKey, namespace), deployments };
  };
  return {
    mode: 'local',
    deployments: entries.filter((entry) => entry.namespace === DEFAULT_NAMESPACE),
    otherWorkspace: ofNamespace('other'),
    exhaustedWorkspace: ofNamespace('spent'),
    storageCredentials: describeCredentials(credentials),
    unknownURL: `http://${LOOPBACK}:${plan.frontPort}/v1`,
    s3: buckets[0] ? { endpoint: buckets[0].endpoint, bucket: buckets[0].bucket, ...buckets[0].keys } : null,
    redisURL: localRedisURL(plan.redisPort, masterKey, 'operator'),
    webhooks: { signingSecret, receiverHost: LOOPBACK, plainHTTP: true },
    console: hasConsole ? { url: `http://${LOOPBACK}:${plan.consolePort}`, token } : null,
    objects: { url: `http://${LOOPBACK}:${plan.apiPort}`, token },
    cluster: null,
  };
}

function describeCredentials(credentials: LocalInstance['credentials']): EndpointsFile['storageCredentials'] {
  const own = credentials.filter(({ namespace }) => namespace === DEFAULT_NAMESPACE);
  return own.length === 0
    ? null
    : own.map(({ id, fault, bucket }) => ({ id, verified: fault === null, bucket }));
}

function describeDeployment(
  { config, port, controlPort }: PlannedDeployment,
  masterKey: string,
): EndpointEntry {
  const control = controlPort === null ? null : `http://${LOOPBACK}:${controlPort}`;
  return {
    name: config.name,
    namespace: config.namespace,
    kind: config.kind,
    modelId: config.modelId,
    registrationId: config.registrationId,
    baseURL: `http://${LOOPBACK}:${port}/v1`,
    apiKey: deriveLocalKey(masterKey, config.namespace),
    simulatorURL: control,
    simulatorURLs: control === null ? null : [control],
    ...describeMedia(config),
    ...(config.paused ? { paused: true as const } : {}),
  };
}
