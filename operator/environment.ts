/** The only place where the operator reads `process.env` and its mounted Secret. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import { ROUTE_PRESETS, ROUTE_VIA } from '../api/model-route.ts';
import { PORTS, VERSION } from '../api/names.ts';
import { POD_FIELD_GROUPS, type PodFieldGroup } from './resources/pod-fields.ts';
import { SECURITY_PLATFORMS } from './resources/security.ts';
import { type GatewayReference, REDIS_USER_MODES } from './resources/settings.ts';
import { S3_COPY_IMAGE } from './resources/weights-copy.ts';
import type { OperatorSettings } from './settings.ts';
import { parseSidecarRollout } from './sidecar/settings.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** A setting that is missing or wrong; the message names it. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
}

/** What concerns this process alone. */
export interface OperatorProcess {
  podName: string;
  logLevel: string;
  /** Name of the leader lease in `namespace`. */
  leaseName: string;
  /** Of /healthz, /readyz and /metrics. */
  port: number;
  /** Path of a kubeconfig; undefined in a pod. */
  kubeconfig: string | undefined;
}

/** Files of the mounted Secret. */
export const OPERATOR_SECRET_FILES = {
  masterKey: 'master-key',
  redisUsername: 'redis-username',
  redisPassword: 'redis-password',
  redisCA: 'redis-ca.crt',
} as const;
const SECRET_PATH = '/etc/berth';

export interface OperatorSecrets {
  masterKey: string;
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  redisCAFile: string;
  readRedisCA: () => string | undefined;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const;
const SCHEMES = ['http', 'https'] as const;
const BOOLEANS = ['true', 'false'] as const;

const GATEWAY_RESOURCES: V1ResourceRequirements = {
  requests: { cpu: '100m', memory: '256Mi' },
  // No CPU limit: throttling shows at once in the latency.
  limits: { memory: '1Gi' },
};

/** Throws EnvironmentError. */
export function readEnvironment(env: Variables = process.env): {
  settings: OperatorSettings;
  process: OperatorProcess;
} {
  return { settings: parseSettings(env, readSecrets(env)), process: parseProcess(env) };
}

/** A Gateway that names no namespace is in Berth's own. */
function readGateway(env: Variables): GatewayReference | undefined {
  const isGateway = (value: unknown) =>
    isObject(value) && typeof (value as { name?: unknown }).name === 'string';
  const gateway = readJSON<Partial<GatewayReference>>(env, 'OPERATOR_GATEWAY', isGateway, {});
  if (!gateway.name) return undefined;
  const { name, sectionName } = gateway;
  const namespace = gateway.namespace || readRequired(env, 'OPERATOR_NAMESPACE');
  return { name, namespace, ...(sectionName ? { sectionName } : {}) };
}

function readSidecarRollout(env: Variables): OperatorSettings['sidecarRollout'] {
  const value = readJSON<object>(env, 'OPERATOR_SIDECAR_ROLLOUT', isObject, {});
  try {
    return parseSidecarRollout(value);
  } catch (error) {
    throw new EnvironmentError(`OPERATOR_SIDECAR_ROLLOUT: ${(error as Error).message}`);
  }
}

/** Throws EnvironmentError. */
export function parseSettings(env: Variables, secrets: OperatorSecrets): OperatorSettings {
  const gatewayImage = readRequired(env, 'OPERATOR_GATEWAY_IMAGE');
  return {
    namespace: readRequired(env, 'OPERATOR_NAMESPACE'),
    version: VERSION,
    domain: readRequired(env, 'OPERATOR_DOMAIN'),
    urlScheme: readOneOf(env, 'OPERATOR_URL_SCHEME', SCHEMES, 'http'),
    urlPort: readPort(env, 'OPERATOR_URL_PORT', undefined),
    ingressClass: env.OPERATOR_INGRESS_CLASS || undefined,
    routePreset: readOneOf(env, 'OPERATOR_ROUTE_PRESET', ROUTE_PRESETS, 'none'),
    routeVia: readOneOf(env, 'OPERATOR_ROUTE_VIA', ROUTE_VIA, 'Direct'),
    allowedHosts: readList(env, 'OPERATOR_ALLOWED_HOSTS'),
    consoleHost: env.OPERATOR_CONSOLE_HOST || undefined,
    documentationURL: env.OPERATOR_DOCUMENTATION_URL || undefined,
    allowedAnnotations: readList(env, 'OPERATOR_ALLOWED_ANNOTATIONS'),
    gateway: readGateway(env),
    frontTLSSecrets: readList(env, 'OPERATOR_FRONT_TLS_SECRETS'),
    frontService: readRequired(env, 'OPERATOR_FRONT_SERVICE'),
    frontServicePort: readPort(env, 'OPERATOR_FRONT_SERVICE_PORT', 80),
    storageURL: readOrigin(env, 'OPERATOR_STORAGE_URL'),
    gatewayImage,
    gatewayResources: readJSON(env, 'OPERATOR_GATEWAY_RESOURCES', isObject, GATEWAY_RESOURCES),
    gatewayLogLevel: readOneOf(env, 'OPERATOR_GATEWAY_LOG_LEVEL', LOG_LEVELS, 'info'),
    simulatorImage: env.OPERATOR_SIMULATOR_IMAGE || `berth/simulator:${VERSION}`,
    engineImages: readJSON(env, 'OPERATOR_ENGINE_IMAGES', isObject, {}),
    s3CopyImage: env.OPERATOR_S3_COPY_IMAGE || S3_COPY_IMAGE,
    imagePullPolicy: readOneOf(env, 'OPERATOR_IMAGE_PULL_POLICY', PULL_POLICIES, 'IfNotPresent'),
    imageRegistry: env.OPERATOR_IMAGE_REGISTRY ?? '',
    ownSecrets: readList(env, 'OPERATOR_OWN_SECRETS'),
    podFields: {
      groups: readPodFields(env),
      host: readOneOf(env, 'OPERATOR_POD_FIELDS_HOST', BOOLEANS, 'false') === 'true',
    },
    imagePullSecrets: readList(env, 'OPERATOR_IMAGE_PULL_SECRETS'),
    downloadEnv: readJSON<V1EnvVar[]>(env, 'OPERATOR_DOWNLOAD_ENV', Array.isArray, []),
    platform: readOneOf(env, 'OPERATOR_SECURITY_PLATFORM', SECURITY_PLATFORMS, 'kubernetes'),
    networkPolicies: readOneOf(env, 'OPERATOR_NETWORK_POLICIES', BOOLEANS, 'true') === 'true',
    egress: {
      allow: readList(env, 'OPERATOR_EGRESS_ALLOW'),
      deny: readList(env, 'OPERATOR_EGRESS_DENY'),
      plainHTTP: readOneOf(env, 'OPERATOR_EGRESS_PLAIN_HTTP', BOOLEANS, 'false') === 'true',
    },
    redisURL: readRequired(env, 'OPERATOR_REDIS_URL'),
    redisUsers: readOneOf(env, 'OPERATOR_REDIS_USERS', REDIS_USER_MODES, 'managed'),
    externalRedisSecret: env.OPERATOR_EXTERNAL_REDIS_SECRET || 'berth-redis',
    redisWorkspaceShare: readPercent(env, 'OPERATOR_REDIS_WORKSPACE_SHARE', 50),
    allowVolatileQueue: readOneOf(env, 'OPERATOR_ALLOW_VOLATILE_QUEUE', BOOLEANS, 'false') === 'true',
    watchNamespaces: readList(env, 'OPERATOR_WATCH_NAMESPACES'),
    sidecarRollout: readSidecarRollout(env),
    ...secrets,
  };
}

function parseProcess(env: Variables): OperatorProcess {
  return {
    podName: readRequired(env, 'OPERATOR_POD_NAME'),
    logLevel: readOneOf(env, 'OPERATOR_LOG_LEVEL', LOG_LEVELS, 'info'),
    leaseName: env.OPERATOR_LEASE_NAME || 'berth-operator',
    port: readPort(env, 'OPERATOR_PORT', PORTS.metrics),
    kubeconfig: env.KUBECONFIG || undefined,
  };
}

function readSecrets(env: Variables): OperatorSecrets {
  const folder = env.OPERATOR_SECRET_PATH || SECRET_PATH;
  const masterKey = readFile(folder, OPERATOR_SECRET_FILES.masterKey);
  if (!masterKey)
    throw new EnvironmentError(
      `${join(folder, OPERATOR_SECRET_FILES.masterKey)} (OPERATOR_SECRET_PATH) must hold the master key`,
    );
  return {
    masterKey,
    redisUsername: readFile(folder, OPERATOR_SECRET_FILES.redisUsername),
    redisPassword: readFile(folder, OPERATOR_SECRET_FILES.redisPassword),
    redisCAFile: join(folder, OPERATOR_SECRET_FILES.redisCA),
    readRedisCA: () => readFile(folder, OPERATOR_SECRET_FILES.redisCA),
  };
}

function readFile(folder: string, file: string): string | undefined {
  try {
    return readFileSync(join(folder, file), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function readRequired(env: Variables, name: string): string {
  const value = env[name];
  if (!value) throw new EnvironmentError(`${name} must be set`);
  return value;
}

function readOneOf<T extends string>(env: Variables, name: string, allowed: readonly T[], fallback: T): T {
  const value = env[name] || fallback;
  const found = allowed.find((one) => one === value);
  if (found === undefined)
    throw new EnvironmentError(`${name} must be one of ${allowed.join(', ')}, not "${value}"`);
  return found;
}

/** Separated by commas. */
const readList = (env: Variables, name: string): string[] =>
  (env[name] ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** All where nothing is said: an admission policy decides who may write them. */
function readPodFields(env: Variables): readonly PodFieldGroup[] {
  if (env.OPERATOR_POD_FIELDS === undefined) return POD_FIELD_GROUPS;
  return readList(env, 'OPERATOR_POD_FIELDS').map((name) => {
    const group = POD_FIELD_GROUPS.find((one) => one === name);
    if (group) return group;
    throw new EnvironmentError(`OPERATOR_POD_FIELDS must list ${POD_FIELD_GROUPS.join(', ')}, not "${name}"`);
  });
}

function readPort<T extends number | undefined>(env: Variables, name: string, fallback: T): number | T {
  const text = env[name];
  if (!text) return fallback;
  const port = Number(text);
  if (!/^[0-9]+$/.test(text) || port < 1 || port > 65_535)
    throw new EnvironmentError(`${name} must be a port from 1 to 65535, not "${text}"`);
  return port;
}

function readPercent(env: Variables, name: string, fallback: number): number {
  const text = env[name] || String(fallback);
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < 1 || value > 100)
    throw new EnvironmentError(`${name} must be a whole number from 1 to 100, not "${text}"`);
  return value;
}

function readOrigin(env: Variables, name: string): string | undefined {
  const text = env[name];
  if (!text) return undefined;
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new EnvironmentError(`${name} must be an origin such as http://front:8082, not "${text}"`);
  return url.origin;
}

function readJSON<T>(env: Variables, name: string, isRight: (value: unknown) => boolean, fallback: T): T {
  const text = env[name];
  if (!text) return fallback;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new EnvironmentError(`${name} must be JSON: ${(error as Error).message}`);
  }
  if (!isRight(value)) throw new EnvironmentError(`${name} has the wrong shape: ${text.slice(0, 200)}`);
  return value as T;
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
