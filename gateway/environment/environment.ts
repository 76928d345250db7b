/** The only place where a gateway reads `process.env` and the mounted Secret. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, PORTS, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import {
  type Environment,
  EnvironmentError,
  parseEnvironment,
  readTextFile,
  type Variables,
} from '../../kit/environment.ts';
import { LOG_LEVELS } from '../../kit/log.ts';
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

export const GATEWAY_ROLES = ['sidecar', 'front'] as const;
export type GatewayRole = (typeof GATEWAY_ROLES)[number];

export interface CommonEnvironment {
  redisURL: string;
  /** Absent if the URL or the server needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** From the mounted Secret; the file is optional. */
  redisCAFile: string;
  /** Address to listen on; undefined = all. */
  host: string | undefined;
  httpPort: number;
  adminPort: number;
  metricsPort: number;
  logLevel: string;
  /** null: no tracing. */
  tracing: TracingSettings | null;
  /** Milliseconds that in-flight work may take after SIGTERM. */
  drainTimeoutMs: number;
  egress: EgressSettings;
}

export interface SidecarEnvironment extends CommonEnvironment {
  /** The configuration from the Secret, not yet validated. */
  configText: string;
  peerToken: string;
  engineURL: string;
  engineHealthPath: string;
  /** null: the engine has none. */
  engineMetricsPath: string | null;
  /** null: the engine reads no shared cache. */
  weightsLease: string | null;
  /** null: the engine itself reports that it ran out of memory. */
  memoryMark: string | null;
  drainToken: string;
  podName: string;
  podIP: string;
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
const MAX_DRAIN_MS = 86_400_000;

export const readVariables = (): Variables => process.env;

/** Throws EnvironmentError. */
export function readRole(variables: Variables): GatewayRole {
  const role = GATEWAY_ROLES.find((name) => name === variables[GATEWAY_ENV.role]);
  if (role) return role;
  throw new EnvironmentError(
    `${GATEWAY_ENV.role} must be one of ${GATEWAY_ROLES.join(', ')}, not "${variables[GATEWAY_ENV.role] ?? ''}"`,
  );
}

/** Throws EnvironmentError. */
export const readSidecarEnvironment = (variables: Variables): SidecarEnvironment =>
  parseEnvironment(variables, (env) => {
    const readFile = (file: string) =>
      env.requiredFile(join(secretFolder(env), file), GATEWAY_ENV.secretPath);
    return {
      ...readCommon(env, 'sidecar'),
      configText: readFile(SIDECAR_SECRET_FILES.config),
      peerToken: readFile(SIDECAR_SECRET_FILES.peerToken),
      engineURL: env.requiredOrigin(GATEWAY_ENV.engineURL),
      engineHealthPath: env.path(GATEWAY_ENV.engineHealthPath, '/health'),
      engineMetricsPath: env.path(GATEWAY_ENV.engineMetricsPath, undefined) ?? null,
      weightsLease: env.text(GATEWAY_ENV.weightsLease) ?? null,
      memoryMark: env.text(GATEWAY_ENV.memoryMark) ?? null,
      drainToken: env.required(GATEWAY_ENV.drainToken),
      podName: env.text(GATEWAY_ENV.podName) ?? hostname(),
      podIP: env.text(GATEWAY_ENV.podIP) ?? '127.0.0.1',
      storage: readSidecarStorage(env),
    };
  });

/** Throws EnvironmentError. */
export const readFrontEnvironment = (variables: Variables): FrontEnvironment =>
  parseEnvironment(variables, (env) => ({
    ...readCommon(env, 'front'),
    podName: env.text(GATEWAY_ENV.podName) ?? hostname(),
    replicaPort: env.port(GATEWAY_ENV.replicaPort, PORTS.http),
    internalPort: env.port(GATEWAY_ENV.internalPort, PORTS.internal),
    limits: readSharedLimits(env),
    holds: {
      total: env.integer(GATEWAY_ENV.maxHeld, { fallback: 1_000, max: MAX_HELD }),
      perDeployment: env.integer(GATEWAY_ENV.maxHeldPerDeployment, { fallback: 250, max: MAX_HELD }),
      bytesPerDeployment: HELD_BYTES_PER_DEPLOYMENT,
    },
    documentationURL: env.text(GATEWAY_ENV.documentationURL),
    storage: readFrontStorage(env),
    mail: readMail(env),
  }));

const MIB = 1024 * 1024;
const MAX_BYTES = 2 ** 50;
const MAX_CHARACTERS = 1_000_000;
const MAX_HELD = 100_000;
const HELD_BYTES_PER_DEPLOYMENT = 32 * MIB;
/** The defaults of a deployment, except for longer prompts: its sidecars serve deployments that raise them. */
const readSharedLimits = (env: Environment): SharedLimits => ({
  jsonBodyBytes: env.integer(GATEWAY_ENV.maxJsonBody, { fallback: 32 * MIB, max: MAX_BYTES }),
  fileBytes: env.integer(GATEWAY_ENV.maxFile, { fallback: 50 * MIB, max: MAX_BYTES }),
  multipartBodyBytes: env.integer(GATEWAY_ENV.maxMultipartBody, { fallback: 64 * MIB, max: MAX_BYTES }),
  promptCharacters: env.integer(GATEWAY_ENV.maxPromptCharacters, { fallback: 250_000, max: MAX_CHARACTERS }),
  bodyTimeoutMs: 60_000,
  uploadTimeoutMs: 300_000,
});

function readMail(env: Environment): MailerOptions | null {
  const path = join(secretFolder(env), FRONT_SECRET_FILES.smtpURL);
  const url = readTextFile(path);
  if (url === undefined) return null;
  // What is invalid at startup is reported at once.
  if (!isMailURL(url)) env.fail(MAIL_PROBLEM, undefined);
  return { readURL: () => readMailURL(path), from: env.required(GATEWAY_ENV.mailFrom) };
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
    redisURL: env.required(GATEWAY_ENV.redisURL),
    // From the mounted Secret, else from the environment.
    redisUsername:
      readTextFile(join(folder, SIDECAR_SECRET_FILES.redisUsername)) ?? env.text(GATEWAY_ENV.redisUsername),
    redisPassword:
      readTextFile(join(folder, SIDECAR_SECRET_FILES.redisPassword)) ?? env.text(GATEWAY_ENV.redisPassword),
    redisCAFile: join(folder, SIDECAR_SECRET_FILES.redisCA),
    host: env.text(GATEWAY_ENV.host),
    httpPort: env.port(GATEWAY_ENV.httpPort, PORTS.http),
    adminPort: env.port(GATEWAY_ENV.adminPort, PORTS.admin),
    metricsPort: env.port(GATEWAY_ENV.metricsPort, PORTS.metrics),
    logLevel: env.oneOf(GATEWAY_ENV.logLevel, LOG_LEVELS, 'info'),
    tracing: readTracingSettings(env, {
      endpoint: GATEWAY_ENV.tracingEndpoint,
      sampleRatio: GATEWAY_ENV.tracingRatio,
    }),
    drainTimeoutMs: env.integer(GATEWAY_ENV.drainTimeoutMs, {
      fallback: DEFAULT_DRAIN_MS[role],
      max: MAX_DRAIN_MS,
    }),
    egress: {
      allow: readCIDRs(env, GATEWAY_ENV.egressAllow),
      deny: readCIDRs(env, GATEWAY_ENV.egressDeny),
      plainHTTP: env.flag(GATEWAY_ENV.egressPlainHTTP),
    },
  };
}

function readCIDRs(env: Environment, name: string): string[] {
  const cidrs = env.list(name);
  try {
    createAddressPolicy({ allow: cidrs, deny: [] });
    return cidrs;
  } catch (error) {
    return env.fail(`${name}: ${(error as Error).message}`, []);
  }
}
