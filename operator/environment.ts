/** The only place where the operator reads `process.env` and its mounted Secret. */

import { join } from 'node:path';
import { PORTS, VERSION } from '../api/names.ts';
import {
  flag,
  integer,
  json,
  list,
  logLevel,
  port,
  required,
  text,
  tracing,
  type ValuesOf,
} from '../api/variables.ts';
import { type Environment, parseEnvironment, readTextFile, type Variables } from '../kit/environment.ts';
import { readTracingSettings } from '../kit/tracing-settings.ts';
import {
  BUILD_VARIABLES,
  type BuildSettings,
  type GatewayReference,
  POD_FIELD_GROUPS,
  type PodFieldGroup,
} from './resources/settings.ts';
import { parseSidecarRollout, type SidecarRolloutSettings } from './sidecar/settings.ts';

/** Settings of the operator itself that are one variable each. */
const OWN_VARIABLES = {
  redisWorkspaceShare: integer(
    'OPERATOR_REDIS_WORKSPACE_SHARE',
    "Percentage of maxmemory that one workspace's keys may take before its user is suspended; 100: no limit.",
    { min: 1, max: 100, fallback: 50 },
  ),
  allowVolatileQueue: flag(
    'OPERATOR_ALLOW_VOLATILE_QUEUE',
    'Allow queueing on a Redis that may lose requests.',
  ),
  modelHub: text(
    'OPERATOR_MODEL_HUB',
    'URL of the hub whose models are looked up to check whether they fit; no lookups if unset.',
  ),
  watchNamespaces: list('OPERATOR_WATCH_NAMESPACES', 'Namespaces to watch; all if empty.'),
} as const;

/** Settings of this process only. */
const PROCESS_VARIABLES = {
  podName: required(text('OPERATOR_POD_NAME', 'Name of the pod, for the leader lease.')),
  logLevel: logLevel('OPERATOR_LOG_LEVEL'),
  leaseName: text('OPERATOR_LEASE_NAME', "Name of the leader lease in Berth's namespace.", 'berth-operator'),
  port: port('OPERATOR_PORT', 'Port of /healthz, /readyz and /metrics.', PORTS.metrics, 1),
  kubeconfig: text('KUBECONFIG', 'Path of a kubeconfig; unset in a pod.'),
} as const;

/** What becomes settings only after further checks. */
const RAW_VARIABLES = {
  gateway: json<Partial<GatewayReference>>(
    'OPERATOR_GATEWAY',
    "Default Gateway of HTTPRoutes: name, namespace (Berth's own if empty), sectionName. Routes are HTTPRoutes by default if it is set.",
    'object',
    {},
  ),
  gatewayTracing: tracing('OPERATOR_GATEWAY'),
  podFields: list(
    'OPERATOR_POD_FIELDS',
    'Groups of privileged pod fields that are allowed; all if unset, for an admission policy to decide.',
  ),
  podFieldsHost: flag('OPERATOR_POD_FIELDS_HOST', 'Whether pods may access their node.'),
  sidecarRollout: json<object>(
    'OPERATOR_SIDECAR_ROLLOUT',
    "Automatic rollout of new sidecars: the chart's `sidecarRollout`, with its ConfigMap; off if unset.",
    'object',
    {},
  ),
  secretPath: text(
    'OPERATOR_SECRET_PATH',
    'Folder of the mounted Secret: master-key, redis-username, redis-password, redis-ca.crt.',
    '/etc/berth',
  ),
} as const;

export const OPERATOR_VARIABLES = {
  ...BUILD_VARIABLES,
  ...OWN_VARIABLES,
  ...RAW_VARIABLES,
  ...PROCESS_VARIABLES,
} as const;

/** Settings of an installation for all deployments. */
export interface OperatorSettings extends BuildSettings, ValuesOf<typeof OWN_VARIABLES> {
  /** Automatic rollout of new sidecars; undefined: off. */
  sidecarRollout: SidecarRolloutSettings | undefined;
}

export type OperatorProcess = ValuesOf<typeof PROCESS_VARIABLES>;

/** Files of the mounted Secret. */
const OPERATOR_SECRET_FILES = {
  masterKey: 'master-key',
  redisUsername: 'redis-username',
  redisPassword: 'redis-password',
  redisCA: 'redis-ca.crt',
} as const;

export interface OperatorSecrets {
  masterKey: string;
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  redisCAFile: string;
  readRedisCA: () => string | undefined;
}

/** Throws EnvironmentError. */
export const readEnvironment = (
  variables: Variables = process.env,
): { settings: OperatorSettings; process: OperatorProcess } =>
  parseEnvironment(variables, (env) => ({
    settings: readSettings(env, readSecrets(env)),
    process: env.readAll(PROCESS_VARIABLES),
  }));

/** Namespaces to watch; all if empty. */
export const readWatchNamespaces = (variables: Variables = process.env): readonly string[] =>
  parseEnvironment(variables, (env) => env.read(OWN_VARIABLES.watchNamespaces));

/** Throws EnvironmentError. */
export const parseSettings = (variables: Variables, secrets: OperatorSecrets): OperatorSettings =>
  parseEnvironment(variables, (env) => readSettings(env, secrets));

/** A Gateway without a namespace is in Berth's own. */
function readGateway(env: Environment): GatewayReference | undefined {
  const { name, namespace, sectionName } = env.read(RAW_VARIABLES.gateway);
  if (name === undefined && !env.has(RAW_VARIABLES.gateway)) return undefined;
  if (typeof name !== 'string')
    return env.fail(`${RAW_VARIABLES.gateway.name} must have the name of a Gateway`, undefined);
  if (name === '') return undefined;
  return {
    name,
    namespace: namespace || env.read(BUILD_VARIABLES.namespace),
    ...(sectionName ? { sectionName } : {}),
  };
}

function readSidecarRollout(env: Environment): OperatorSettings['sidecarRollout'] {
  const { name } = RAW_VARIABLES.sidecarRollout;
  try {
    return parseSidecarRollout(env.read(RAW_VARIABLES.sidecarRollout));
  } catch (error) {
    return env.fail(`${name}: ${(error as Error).message}`, undefined);
  }
}

const readSettings = (env: Environment, secrets: OperatorSecrets): OperatorSettings => ({
  ...env.readAll(BUILD_VARIABLES),
  ...env.readAll(OWN_VARIABLES),
  version: VERSION,
  gateway: readGateway(env),
  gatewayTracing: readTracingSettings(env, RAW_VARIABLES.gatewayTracing),
  podFields: { groups: readPodFields(env), host: env.read(RAW_VARIABLES.podFieldsHost) },
  sidecarRollout: readSidecarRollout(env),
  ...secrets,
});

function readSecrets(env: Environment): OperatorSecrets {
  const folder = env.read(RAW_VARIABLES.secretPath);
  const read = (file: string) => readTextFile(join(folder, file));
  return {
    masterKey: env.requiredFile(join(folder, OPERATOR_SECRET_FILES.masterKey), RAW_VARIABLES.secretPath),
    redisUsername: read(OPERATOR_SECRET_FILES.redisUsername),
    redisPassword: read(OPERATOR_SECRET_FILES.redisPassword),
    redisCAFile: join(folder, OPERATOR_SECRET_FILES.redisCA),
    readRedisCA: () => read(OPERATOR_SECRET_FILES.redisCA),
  };
}

/** All if not set: an admission policy decides who may use them. */
function readPodFields(env: Environment): readonly PodFieldGroup[] {
  const variable = RAW_VARIABLES.podFields;
  if (!env.has(variable)) return POD_FIELD_GROUPS;
  return env.read(variable).flatMap((name) => {
    const group = POD_FIELD_GROUPS.find((each) => each === name);
    return group ?? env.fail(`${variable.name} must list ${POD_FIELD_GROUPS.join(', ')}, not "${name}"`, []);
  });
}
