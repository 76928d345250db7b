/** The only place where the operator reads `process.env` and its mounted Secret. */

import { join } from 'node:path';
import type { V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import { ROUTE_PRESETS, ROUTE_VIA } from '../api/model-route.ts';
import { PORTS, VERSION } from '../api/names.ts';
import { type Environment, parseEnvironment, readTextFile, type Variables } from '../kit/environment.ts';
import { isObject } from '../kit/json.ts';
import { LOG_LEVELS } from '../kit/log.ts';
import { readTracingSettings } from '../kit/tracing-settings.ts';
import { SECURITY_PLATFORMS } from './resources/security.ts';
import {
  type BuildSettings,
  type GatewayReference,
  POD_FIELD_GROUPS,
  type PodFieldGroup,
  REDIS_USER_MODES,
} from './resources/settings.ts';
import { S3_COPY_IMAGE } from './resources/weights-copy.ts';
import { parseSidecarRollout, type SidecarRolloutSettings } from './sidecar/settings.ts';

/** Settings of an installation for all deployments. */
export interface OperatorSettings extends BuildSettings {
  /** Percentage of maxmemory that one workspace's keys may take before its user is suspended; 100: no limit. */
  redisWorkspaceShare: number;
  /** Allow queueing on a Redis that may lose requests. */
  allowVolatileQueue: boolean;
  /** Automatic rollout of new sidecars; undefined: off. */
  sidecarRollout: SidecarRolloutSettings | undefined;
  /** URL of the hub whose models are looked up to check whether they fit; undefined: no lookups. */
  modelHub: string | undefined;
  /** Namespaces to watch; all if empty. */
  watchNamespaces: readonly string[];
}

/** Settings of this process only. */
export interface OperatorProcess {
  podName: string;
  logLevel: string;
  /** Name of the leader lease in `namespace`. */
  leaseName: string;
  /** Port of /healthz, /readyz and /metrics. */
  port: number;
  /** Path of a kubeconfig; undefined in a pod. */
  kubeconfig: string | undefined;
}

/** Files of the mounted Secret. */
const OPERATOR_SECRET_FILES = {
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

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const;
const SCHEMES = ['http', 'https'] as const;

const GATEWAY_RESOURCES: V1ResourceRequirements = {
  requests: { cpu: '100m', memory: '256Mi' },
  // No CPU limit: throttling would increase latency at once.
  limits: { memory: '1Gi' },
};

/** Throws EnvironmentError. */
export const readEnvironment = (
  variables: Variables = process.env,
): { settings: OperatorSettings; process: OperatorProcess } =>
  parseEnvironment(variables, (env) => ({
    settings: readSettings(env, readSecrets(env)),
    process: readProcess(env),
  }));

/** Namespaces to watch; all if empty. */
export const readWatchNamespaces = (variables: Variables = process.env): string[] =>
  parseEnvironment(variables, (env) => env.list('OPERATOR_WATCH_NAMESPACES'));

/** Throws EnvironmentError. */
export const parseSettings = (variables: Variables, secrets: OperatorSecrets): OperatorSettings =>
  parseEnvironment(variables, (env) => readSettings(env, secrets));

/** A Gateway without a namespace is in Berth's own. */
function readGateway(env: Environment): GatewayReference | undefined {
  const isGateway = (value: unknown) =>
    isObject(value) && typeof (value as { name?: unknown }).name === 'string';
  const gateway = env.json<Partial<GatewayReference>>('OPERATOR_GATEWAY', isGateway, {});
  if (!gateway.name) return undefined;
  const { name, sectionName } = gateway;
  const namespace = gateway.namespace || env.required('OPERATOR_NAMESPACE');
  return { name, namespace, ...(sectionName ? { sectionName } : {}) };
}

function readSidecarRollout(env: Environment): OperatorSettings['sidecarRollout'] {
  const value = env.json<object>('OPERATOR_SIDECAR_ROLLOUT', isObject, {});
  try {
    return parseSidecarRollout(value);
  } catch (error) {
    return env.fail(`OPERATOR_SIDECAR_ROLLOUT: ${(error as Error).message}`, undefined);
  }
}

function readSettings(env: Environment, secrets: OperatorSecrets): OperatorSettings {
  const gatewayImage = env.required('OPERATOR_GATEWAY_IMAGE');
  return {
    namespace: env.required('OPERATOR_NAMESPACE'),
    version: VERSION,
    domain: env.required('OPERATOR_DOMAIN'),
    urlScheme: env.oneOf('OPERATOR_URL_SCHEME', SCHEMES, 'http'),
    urlPort: env.port('OPERATOR_URL_PORT', undefined, 1),
    ingressClass: env.text('OPERATOR_INGRESS_CLASS'),
    routePreset: env.oneOf('OPERATOR_ROUTE_PRESET', ROUTE_PRESETS, 'none'),
    routeVia: env.oneOf('OPERATOR_ROUTE_VIA', ROUTE_VIA, 'Direct'),
    allowedHosts: env.list('OPERATOR_ALLOWED_HOSTS'),
    consoleHost: env.text('OPERATOR_CONSOLE_HOST'),
    documentationURL: env.text('OPERATOR_DOCUMENTATION_URL'),
    allowedAnnotations: env.list('OPERATOR_ALLOWED_ANNOTATIONS'),
    gateway: readGateway(env),
    frontTLSSecrets: env.list('OPERATOR_FRONT_TLS_SECRETS'),
    frontService: env.required('OPERATOR_FRONT_SERVICE'),
    frontServicePort: env.port('OPERATOR_FRONT_SERVICE_PORT', 80, 1),
    storageURL: env.origin('OPERATOR_STORAGE_URL'),
    gatewayImage,
    gatewayResources: env.json('OPERATOR_GATEWAY_RESOURCES', isObject, GATEWAY_RESOURCES),
    gatewayLogLevel: env.oneOf('OPERATOR_GATEWAY_LOG_LEVEL', LOG_LEVELS, 'info'),
    gatewayTracing: readTracingSettings(env, {
      endpoint: 'OPERATOR_GATEWAY_TRACING_ENDPOINT',
      sampleRatio: 'OPERATOR_GATEWAY_TRACING_RATIO',
    }),
    simulatorImage: env.text('OPERATOR_SIMULATOR_IMAGE'),
    engineImages: env.json('OPERATOR_ENGINE_IMAGES', isObject, {}),
    s3CopyImage: env.text('OPERATOR_S3_COPY_IMAGE') ?? S3_COPY_IMAGE,
    imagePullPolicy: env.oneOf('OPERATOR_IMAGE_PULL_POLICY', PULL_POLICIES, 'IfNotPresent'),
    imageRegistry: env.text('OPERATOR_IMAGE_REGISTRY') ?? '',
    ownSecrets: env.list('OPERATOR_OWN_SECRETS'),
    podFields: {
      groups: readPodFields(env),
      host: env.flag('OPERATOR_POD_FIELDS_HOST'),
    },
    imagePullSecrets: env.list('OPERATOR_IMAGE_PULL_SECRETS'),
    downloadEnv: env.json<V1EnvVar[]>('OPERATOR_DOWNLOAD_ENV', Array.isArray, []),
    platform: env.oneOf('OPERATOR_SECURITY_PLATFORM', SECURITY_PLATFORMS, 'kubernetes'),
    networkPolicies: env.flag('OPERATOR_NETWORK_POLICIES', true),
    egress: {
      allow: env.list('OPERATOR_EGRESS_ALLOW'),
      deny: env.list('OPERATOR_EGRESS_DENY'),
      plainHTTP: env.flag('OPERATOR_EGRESS_PLAIN_HTTP'),
    },
    redisURL: env.required('OPERATOR_REDIS_URL'),
    redisUsers: env.oneOf('OPERATOR_REDIS_USERS', REDIS_USER_MODES, 'managed'),
    externalRedisSecret: env.text('OPERATOR_EXTERNAL_REDIS_SECRET') ?? 'berth-redis',
    redisWorkspaceShare: env.integer('OPERATOR_REDIS_WORKSPACE_SHARE', { fallback: 50, min: 1, max: 100 }),
    allowVolatileQueue: env.flag('OPERATOR_ALLOW_VOLATILE_QUEUE'),
    modelHub: env.text('OPERATOR_MODEL_HUB'),
    watchNamespaces: env.list('OPERATOR_WATCH_NAMESPACES'),
    sidecarRollout: readSidecarRollout(env),
    ...secrets,
  };
}

function readProcess(env: Environment): OperatorProcess {
  return {
    podName: env.required('OPERATOR_POD_NAME'),
    logLevel: env.oneOf('OPERATOR_LOG_LEVEL', LOG_LEVELS, 'info'),
    leaseName: env.text('OPERATOR_LEASE_NAME') ?? 'berth-operator',
    port: env.port('OPERATOR_PORT', PORTS.metrics, 1),
    kubeconfig: env.text('KUBECONFIG'),
  };
}

function readSecrets(env: Environment): OperatorSecrets {
  const folder = env.text('OPERATOR_SECRET_PATH') ?? SECRET_PATH;
  const read = (file: string) => readTextFile(join(folder, file));
  return {
    masterKey: env.requiredFile(join(folder, OPERATOR_SECRET_FILES.masterKey), 'OPERATOR_SECRET_PATH'),
    redisUsername: read(OPERATOR_SECRET_FILES.redisUsername),
    redisPassword: read(OPERATOR_SECRET_FILES.redisPassword),
    redisCAFile: join(folder, OPERATOR_SECRET_FILES.redisCA),
    readRedisCA: () => read(OPERATOR_SECRET_FILES.redisCA),
  };
}

/** All if not set: an admission policy decides who may use them. */
function readPodFields(env: Environment): readonly PodFieldGroup[] {
  if (!env.has('OPERATOR_POD_FIELDS')) return POD_FIELD_GROUPS;
  return env.list('OPERATOR_POD_FIELDS').flatMap((name) => {
    const group = POD_FIELD_GROUPS.find((each) => each === name);
    return (
      group ?? env.fail(`OPERATOR_POD_FIELDS must list ${POD_FIELD_GROUPS.join(', ')}, not "${name}"`, [])
    );
  });
}
