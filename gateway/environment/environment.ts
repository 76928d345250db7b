/** The only place where a gateway reads `process.env` and the mounted Secret. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_VARIABLES, type GatewayRole } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import { required, type ValuesOf, type Variable } from '../../api/variables.ts';
import {
  type Environment,
  EnvironmentError,
  parseEnvironment,
  readTextFile,
  type Variables,
} from '../../kit/environment.ts';
import { readTracingSettings, type TracingSettings } from '../../kit/tracing-settings.ts';
import { createAddressPolicy } from '../egress/address-policy.ts';
import type { EgressSettings } from '../egress/agent.ts';
import type { MailerOptions } from '../webhooks/mailer.ts';
import {
  type FrontStorageEnvironment,
  readFrontStorage,
  readSidecarStorage,
  type SidecarStorageEnvironment,
  secretFolder,
} from './storage-environment.ts';

const { redisURL, host, httpPort, adminPort, metricsPort, logLevel } = GATEWAY_VARIABLES;
const COMMON_VARIABLES = { redisURL, host, httpPort, adminPort, metricsPort, logLevel };
const { engineURL, engineHealthPath, drainToken, podIP } = GATEWAY_VARIABLES;
const SIDECAR_VARIABLES = { engineURL, engineHealthPath, drainToken, podIP };

export interface CommonEnvironment extends ValuesOf<typeof COMMON_VARIABLES> {
  /** Absent if the URL or the server needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** From the mounted Secret; the file is optional. */
  redisCAFile: string;
  /** null: no tracing. */
  tracing: TracingSettings | null;
  /** Milliseconds that in-flight work may take after SIGTERM. */
  drainTimeoutMs: number;
  egress: EgressSettings;
}

export interface SidecarEnvironment extends CommonEnvironment, ValuesOf<typeof SIDECAR_VARIABLES> {
  /** The configuration from the Secret, not yet validated. */
  configText: string;
  peerToken: string;
  /** null: the engine has none. */
  engineMetricsPath: string | null;
  /** null: the engine reads no shared cache. */
  weightsLease: string | null;
  /** null: the engine itself reports that it ran out of memory. */
  memoryMark: string | null;
  podName: string;
  storage: SidecarStorageEnvironment;
  /** Receives log lines instead of standard output, if several programs share a process. */
  writeLog?: (line: string) => void;
}

/** A front's limits for tenants, whatever their objects allow: all of them share its memory and disk. */
export type SharedLimits = Pick<
  GatewayConfig['limits'],
  | 'jsonBodyBytes'
  | 'fileBytes'
  | 'multipartBodyBytes'
  | 'promptCharacters'
  | 'bodyTimeoutMs'
  | 'uploadTimeoutMs'
>;

export interface FrontEnvironment extends CommonEnvironment {
  podName: string;
  /** Port of replicas; PORTS.http except in tests. */
  replicaPort: number;
  /** Port of the storage service. */
  internalPort: number;
  /** Deployments' own limits cannot exceed them. */
  limits: SharedLimits;
  /** How many requests, and bytes of them, it holds until a replica is ready. */
  holds: { total: number; perDeployment: number; bytesPerDeployment: number };
  documentationURL: string | undefined;
  storage: FrontStorageEnvironment;
  /** null: no e-mail is sent. */
  mail: MailerOptions | null;
}

const DEFAULT_DRAIN_MS: Record<GatewayRole, number> = { sidecar: 180_000, front: 150_000 };

export const readVariables = (): Variables => process.env;

/** Throws EnvironmentError. */
export const readRole = (variables: Variables): GatewayRole =>
  parseEnvironment(variables, (env) => env.read(GATEWAY_VARIABLES.role));

/** Throws EnvironmentError. */
export const readSidecarEnvironment = (variables: Variables): SidecarEnvironment =>
  parseEnvironment(variables, (env) => {
    const readFile = (file: string) =>
      env.requiredFile(join(secretFolder(env), file), GATEWAY_VARIABLES.secretPath);
    return {
      ...readCommon(env, 'sidecar'),
      ...env.readAll(SIDECAR_VARIABLES),
      configText: readFile(SIDECAR_SECRET_FILES.config),
      peerToken: readFile(SIDECAR_SECRET_FILES.peerToken),
      engineMetricsPath: env.read(GATEWAY_VARIABLES.engineMetricsPath) ?? null,
      weightsLease: env.read(GATEWAY_VARIABLES.weightsLease) ?? null,
      memoryMark: env.read(GATEWAY_VARIABLES.memoryMark) ?? null,
      podName: env.read(GATEWAY_VARIABLES.podName) ?? hostname(),
      storage: readSidecarStorage(env),
    };
  });

/** Throws EnvironmentError. */
export const readFrontEnvironment = (variables: Variables): FrontEnvironment =>
  parseEnvironment(variables, (env) => ({
    ...readCommon(env, 'front'),
    podName: env.read(GATEWAY_VARIABLES.podName) ?? hostname(),
    replicaPort: env.read(GATEWAY_VARIABLES.replicaPort),
    internalPort: env.read(GATEWAY_VARIABLES.internalPort),
    limits: readSharedLimits(env),
    holds: {
      total: env.read(GATEWAY_VARIABLES.maxHeld),
      perDeployment: env.read(GATEWAY_VARIABLES.maxHeldPerDeployment),
      bytesPerDeployment: HELD_BYTES_PER_DEPLOYMENT,
    },
    documentationURL: env.read(GATEWAY_VARIABLES.documentationURL),
    storage: readFrontStorage(env),
    mail: readMail(env),
  }));

const HELD_BYTES_PER_DEPLOYMENT = 32 * 1024 * 1024;
const readSharedLimits = (env: Environment): SharedLimits => ({
  jsonBodyBytes: env.read(GATEWAY_VARIABLES.maxJsonBody),
  fileBytes: env.read(GATEWAY_VARIABLES.maxFile),
  multipartBodyBytes: env.read(GATEWAY_VARIABLES.maxMultipartBody),
  promptCharacters: env.read(GATEWAY_VARIABLES.maxPromptCharacters),
  bodyTimeoutMs: 60_000,
  uploadTimeoutMs: 300_000,
});

function readMail(env: Environment): MailerOptions | null {
  const path = join(secretFolder(env), FRONT_SECRET_FILES.smtpURL);
  const url = readTextFile(path);
  if (url === undefined) return null;
  // What is invalid at startup is reported at once.
  if (!isMailURL(url)) env.fail(MAIL_PROBLEM, undefined);
  return { readURL: () => readMailURL(path), from: env.read(required(GATEWAY_VARIABLES.mailFrom)) };
}

const MAIL_PROBLEM = `${FRONT_SECRET_FILES.smtpURL} of the Secret must be an smtp:// or smtps:// URL`;
const isMailURL = (text: string): boolean => /^smtps?:$/.test(URL.parse(text)?.protocol ?? '');

/** The Secret's current content: the kubelet rewrites its files when it changes. Throws EnvironmentError. */
function readMailURL(path: string): string {
  const url = readTextFile(path);
  if (url !== undefined && isMailURL(url)) return url;
  throw new EnvironmentError(MAIL_PROBLEM);
}

function readCommon(env: Environment, role: GatewayRole): CommonEnvironment {
  const folder = secretFolder(env);
  return {
    ...env.readAll(COMMON_VARIABLES),
    // From the mounted Secret, else from the environment.
    redisUsername:
      readTextFile(join(folder, SIDECAR_SECRET_FILES.redisUsername)) ??
      env.read(GATEWAY_VARIABLES.redisUsername),
    redisPassword:
      readTextFile(join(folder, SIDECAR_SECRET_FILES.redisPassword)) ??
      env.read(GATEWAY_VARIABLES.redisPassword),
    redisCAFile: join(folder, SIDECAR_SECRET_FILES.redisCA),
    tracing: readTracingSettings(env, {
      endpoint: GATEWAY_VARIABLES.tracingEndpoint,
      sampleRatio: GATEWAY_VARIABLES.tracingRatio,
    }),
    drainTimeoutMs: env.read(GATEWAY_VARIABLES.drainTimeoutMs) ?? DEFAULT_DRAIN_MS[role],
    egress: {
      allow: readCIDRs(env, GATEWAY_VARIABLES.egressAllow),
      deny: readCIDRs(env, GATEWAY_VARIABLES.egressDeny),
      plainHTTP: env.read(GATEWAY_VARIABLES.egressPlainHTTP),
    },
  };
}

function readCIDRs(env: Environment, variable: Variable<readonly string[]>): readonly string[] {
  const cidrs = env.read(variable);
  try {
    createAddressPolicy({ allow: cidrs, deny: [] });
    return cidrs;
  } catch (error) {
    return env.fail(`${variable.name}: ${(error as Error).message}`, []);
  }
}
