/** The only place where the console reads `process.env` and mounted files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONSOLE_ENV } from '../../api/console-environment.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export interface ConsoleEnvironment {
  /** undefined = all addresses. */
  host: string | undefined;
  port: number;
  metricsPort: number;
  webFolder: string;
  kubernetesURL: string;
  /** PEM; undefined = the system's authorities. */
  kubernetesCA: string | undefined;
  tokenPath: string;
  redisURL: string;
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** The file need not be there. */
  redisCAFile: string | undefined;
  /** null: deployments are called at their own URLs. */
  frontURL: string | null;
  /** null: the Host header tells. */
  publicURL: string | null;
  plainHTTP: boolean;
  logLevel: string;
}

/** A setting that is missing or wrong; the message names it. */
export class EnvironmentError extends Error {}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const WEB_FOLDER = join(import.meta.dirname, '../web/dist');

export const readVariables = (): Variables => process.env;

/** Throws EnvironmentError. */
export function readEnvironment(env: Variables): ConsoleEnvironment {
  const secret = env[CONSOLE_ENV.secretPath];
  return {
    host: env[CONSOLE_ENV.host] || undefined,
    port: readPort(env, CONSOLE_ENV.port, 8080),
    metricsPort: readPort(env, CONSOLE_ENV.metricsPort, 9090),
    webFolder: env[CONSOLE_ENV.webFolder] || WEB_FOLDER,
    kubernetesURL: readOrigin(env, CONSOLE_ENV.kubernetesURL) ?? readClusterURL(env),
    kubernetesCA: readAuthority(env),
    tokenPath: env[CONSOLE_ENV.tokenPath] || join(ACCOUNT, 'token'),
    redisURL: readRequired(env, CONSOLE_ENV.redisURL),
    redisUsername: secret ? readFile(join(secret, 'redis-username')) : undefined,
    redisPassword: secret ? readFile(join(secret, 'redis-password')) : undefined,
    redisCAFile: secret ? join(secret, 'redis-ca.crt') : undefined,
    frontURL: readOrigin(env, CONSOLE_ENV.frontURL),
    publicURL: readOrigin(env, CONSOLE_ENV.publicURL),
    plainHTTP: readFlag(env, CONSOLE_ENV.plainHTTP),
    logLevel: env[CONSOLE_ENV.logLevel] || 'info',
  };
}

function readRequired(env: Variables, name: string): string {
  const value = env[name];
  if (!value) throw new EnvironmentError(`${name} must be set`);
  return value;
}

function readPort(env: Variables, name: string, fallback: number): number {
  const text = env[name];
  if (!text) return fallback;
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) > 65_535)
    throw new EnvironmentError(`${name} must be a port, not "${text}"`);
  return Number(text);
}

function readFlag(env: Variables, name: string): boolean {
  const text = env[name] || 'false';
  if (text !== 'true' && text !== 'false')
    throw new EnvironmentError(`${name} must be true or false, not "${text}"`);
  return text === 'true';
}

function readOrigin(env: Variables, name: string): string | null {
  const text = env[name];
  if (!text) return null;
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new EnvironmentError(`${name} must be an origin such as https://berth.example.com, not "${text}"`);
  return url.origin;
}

function readClusterURL(env: Variables): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (!host) throw new EnvironmentError(`${CONSOLE_ENV.kubernetesURL} must be set outside a cluster`);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function readAuthority(env: Variables): string | undefined {
  const path = env[CONSOLE_ENV.kubernetesCA];
  if (!path) return readFile(join(ACCOUNT, 'ca.crt'));
  const authority = readFile(path);
  if (authority === undefined)
    throw new EnvironmentError(`cannot read ${path} (${CONSOLE_ENV.kubernetesCA})`);
  return authority;
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
