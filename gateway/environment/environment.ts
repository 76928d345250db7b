/** The only place where a gateway reads `process.env` and the mounted Secret. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, PORTS, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import { createAddressPolicy } from '../egress/address-policy.ts';
import type { EgressSettings } from '../egress/agent.ts';
import type { MailerOptions } from '../webhooks/mailer.ts';
import {
  type FrontStorageEnvironment,
  readFrontStorage,
  readSidecarStorage,
  type SidecarStorageEnvironment,
} from './storage-environment.ts';
import {
  EnvironmentError,
  readFlag,
  readInteger,
  readOrigin,
  readPath,
  readPort,
  readRequired,
  readSecret,
  secretFolder,
  type Variables,
} from './variables.ts';

export const GATEWAY_ROLES = ['sidecar', 'front'] as const;
export type GatewayRole = (typeof GATEWAY_ROLES)[number];

export interface CommonEnvironment {
  redisURL: string;
  /** Absent where the URL or the server needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** Of the mounted Secret; the file need not be there. */
  redisCAFile: string;
  /** Address to listen on; undefined = all. */
  host: string | undefined;
  httpPort: number;
  adminPort: number;
  metricsPort: number;
  logLevel: string;
  /** Milliseconds that in-flight work may take once the program is asked to end. */
  drainTimeoutMs: number;
  egress: EgressSettings;
}

export interface SidecarEnvironment extends CommonEnvironment {
  /** The configuration as the Secret holds it, not yet checked. */
  configText: string;
  peerToken: string;
  engineURL: string;
  engineHealthPath: string;
  /** null: the engine has none. */
  engineMetricsPath: string | null;
  drainToken: string;
  podName: string;
  podIP: string;
  storage: SidecarStorageEnvironment;
  /** Takes the log's lines in place of standard output: where several share a process. */
  writeLog?: (line: string) => void;
}

/** What a front accepts from tenants, whatever their objects allow: all of them share its memory and its disk. */
export type SharedLimits = Pick<
  GatewayConfig['limits'],
  'jsonBodyBytes' | 'fileBytes' | 'multipartBodyBytes' | 'bodyTimeoutMs' | 'uploadTimeoutMs'
>;

export interface FrontEnvironment extends CommonEnvironment {
  podName: string;
  /** Port on which replicas are dialled; PORTS.http but in tests. */
  replicaPort: number;
  /** Of the storage service. */
  internalPort: number;
  /** Above them no deployment's own limits count. */
  limits: SharedLimits;
  documentationURL: string | undefined;
  storage: FrontStorageEnvironment;
  /** null: nobody is written to. */
  mail: MailerOptions | null;
}

const DEFAULT_DRAIN_MS: Record<GatewayRole, number> = { sidecar: 180_000, front: 150_000 };
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

export const readVariables = (): Variables => process.env;

export function readRole(env: Variables): GatewayRole {
  const role = GATEWAY_ROLES.find((name) => name === env[GATEWAY_ENV.role]);
  if (role) return role;
  throw new EnvironmentError(
    `${GATEWAY_ENV.role} must be one of ${GATEWAY_ROLES.join(', ')}, not "${env[GATEWAY_ENV.role] ?? ''}"`,
  );
}

/** Throws EnvironmentError. */
export function readSidecarEnvironment(env: Variables): SidecarEnvironment {
  const folder = secretFolder(env);
  return {
    ...readCommon(env, 'sidecar'),
    ...readRedisCredentials(env),
    configText: readSecret(folder, SIDECAR_SECRET_FILES.config, true)!,
    peerToken: readSecret(folder, SIDECAR_SECRET_FILES.peerToken, true)!,
    engineURL: readOrigin(env, GATEWAY_ENV.engineURL),
    engineHealthPath: readPath(env, GATEWAY_ENV.engineHealthPath),
    engineMetricsPath: env[GATEWAY_ENV.engineMetricsPath]
      ? readPath(env, GATEWAY_ENV.engineMetricsPath)
      : null,
    drainToken: readRequired(env, GATEWAY_ENV.drainToken),
    podName: env[GATEWAY_ENV.podName] ?? hostname(),
    podIP: env[GATEWAY_ENV.podIP] ?? '127.0.0.1',
    storage: readSidecarStorage(env),
  };
}

/** Of the mounted Secret; the environment's where there is none. */
const readRedisCredentials = (env: Variables) => ({
  redisUsername:
    readSecret(secretFolder(env), SIDECAR_SECRET_FILES.redisUsername, false) ??
    (env[GATEWAY_ENV.redisUsername] || undefined),
  redisPassword:
    readSecret(secretFolder(env), SIDECAR_SECRET_FILES.redisPassword, false) ??
    (env[GATEWAY_ENV.redisPassword] || undefined),
});

/** Throws EnvironmentError. */
export function readFrontEnvironment(env: Variables): FrontEnvironment {
  return {
    ...readCommon(env, 'front'),
    ...readRedisCredentials(env),
    podName: env[GATEWAY_ENV.podName] ?? hostname(),
    replicaPort: readPort(env, GATEWAY_ENV.replicaPort, PORTS.http),
    internalPort: readPort(env, GATEWAY_ENV.internalPort, PORTS.internal),
    limits: readSharedLimits(env),
    documentationURL: env[GATEWAY_ENV.documentationURL] || undefined,
    storage: readFrontStorage(env),
    mail: readMail(env),
  };
}

const MIB = 1024 * 1024;
const MAX_BYTES = 2 ** 50;
/** A deployment's own defaults: who raises them is served so by its sidecars. */
const readSharedLimits = (env: Variables): SharedLimits => ({
  jsonBodyBytes: readInteger(env, GATEWAY_ENV.maxJsonBody, 32 * MIB, MAX_BYTES),
  fileBytes: readInteger(env, GATEWAY_ENV.maxFile, 50 * MIB, MAX_BYTES),
  multipartBodyBytes: readInteger(env, GATEWAY_ENV.maxMultipartBody, 64 * MIB, MAX_BYTES),
  bodyTimeoutMs: 60_000,
  uploadTimeoutMs: 300_000,
});

function readMail(env: Variables): MailerOptions | null {
  const folder = secretFolder(env);
  if (!readSecret(folder, FRONT_SECRET_FILES.smtpURL, false)) return null;
  const readURL = () => readMailURL(folder);
  // What is wrong from the beginning is told at once.
  readURL();
  return { readURL, from: readRequired(env, GATEWAY_ENV.mailFrom) };
}

/** As the Secret says it now: the kubelet writes its files anew when it changes. Throws EnvironmentError. */
function readMailURL(folder: string): string {
  const url = readSecret(folder, FRONT_SECRET_FILES.smtpURL, true);
  if (url && /^smtps?:$/.test(URL.parse(url)?.protocol ?? '')) return url;
  throw new EnvironmentError(
    `${FRONT_SECRET_FILES.smtpURL} of the Secret must be an smtp:// or smtps:// URL`,
  );
}

function readCommon(env: Variables, role: GatewayRole): CommonEnvironment {
  const logLevel = env[GATEWAY_ENV.logLevel] ?? 'info';
  if (!LOG_LEVELS.includes(logLevel))
    throw new EnvironmentError(`${GATEWAY_ENV.logLevel} must be one of ${LOG_LEVELS.join(', ')}`);
  return {
    redisURL: readRequired(env, GATEWAY_ENV.redisURL),
    redisUsername: env[GATEWAY_ENV.redisUsername] || undefined,
    redisPassword: env[GATEWAY_ENV.redisPassword] || undefined,
    redisCAFile: join(secretFolder(env), SIDECAR_SECRET_FILES.redisCA),
    host: env[GATEWAY_ENV.host] || undefined,
    httpPort: readPort(env, GATEWAY_ENV.httpPort, PORTS.http),
    adminPort: readPort(env, GATEWAY_ENV.adminPort, PORTS.admin),
    metricsPort: readPort(env, GATEWAY_ENV.metricsPort, PORTS.metrics),
    logLevel,
    drainTimeoutMs: readInteger(env, GATEWAY_ENV.drainTimeoutMs, DEFAULT_DRAIN_MS[role], 86_400_000),
    egress: {
      allow: readCIDRs(env, GATEWAY_ENV.egressAllow),
      deny: readCIDRs(env, GATEWAY_ENV.egressDeny),
      plainHTTP: readFlag(env, GATEWAY_ENV.egressPlainHTTP),
    },
  };
}

function readCIDRs(env: Variables, name: string): string[] {
  const cidrs = (env[name] ?? '').split(',').flatMap((part) => part.trim() || []);
  try {
    createAddressPolicy({ allow: cidrs, deny: [] });
  } catch (error) {
    throw new EnvironmentError(`${name}: ${(error as Error).message}`);
  }
  return cidrs;
}
