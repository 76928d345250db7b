/** The only place where the console reads `process.env` and mounted files. */
import { join } from 'node:path';
import { CONSOLE_ENV } from '../../api/console-environment.ts';
import { PORTS } from '../../api/names.ts';
import { type Environment, parseEnvironment, readTextFile, type Variables } from '../../kit/environment.ts';
import { LOG_LEVELS } from '../../kit/log.ts';
import type { OIDCSettings } from './oidc/issuer.ts';

export interface ConsoleEnvironment {
  /** undefined = all addresses. */
  host: string | undefined;
  port: number;
  metricsPort: number;
  webFolder: string;
  kubernetesURL: string;
  /** PEM; undefined = the system's CA certificates. */
  kubernetesCA: string | undefined;
  tokenPath: string;
  redisURL: string;
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** The file may be missing. */
  redisCAFile: string | undefined;
  /** null: deployments are called at their own URLs. */
  frontURL: string | null;
  /** null: taken from the Host header. */
  publicURL: string | null;
  /** null: the page links to its own list of errors. */
  documentationURL: string | null;
  plainHTTP: boolean;
  /** null: sign-in with tokens only. */
  oidc: OIDCSettings | null;
  logLevel: string;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const DEFAULT_SCOPES = ['openid', 'email', 'profile'];
const WEB_FOLDER = join(import.meta.dirname, '../web/dist');

export const readVariables = (): Variables => process.env;

/** Throws EnvironmentError. */
export const readEnvironment = (variables: Variables): ConsoleEnvironment =>
  parseEnvironment(variables, (env) => {
    const secret = env.text(CONSOLE_ENV.secretPath);
    return {
      host: env.text(CONSOLE_ENV.host),
      port: env.port(CONSOLE_ENV.port, PORTS.http),
      metricsPort: env.port(CONSOLE_ENV.metricsPort, PORTS.metrics),
      webFolder: env.text(CONSOLE_ENV.webFolder) ?? WEB_FOLDER,
      kubernetesURL: env.origin(CONSOLE_ENV.kubernetesURL) ?? readClusterURL(env),
      kubernetesCA: readAuthority(env),
      tokenPath: env.text(CONSOLE_ENV.tokenPath) ?? join(ACCOUNT, 'token'),
      redisURL: env.required(CONSOLE_ENV.redisURL),
      redisUsername: secret ? readTextFile(join(secret, 'redis-username')) : undefined,
      redisPassword: secret ? readTextFile(join(secret, 'redis-password')) : undefined,
      redisCAFile: secret ? join(secret, 'redis-ca.crt') : undefined,
      frontURL: env.origin(CONSOLE_ENV.frontURL) ?? null,
      publicURL: env.origin(CONSOLE_ENV.publicURL) ?? null,
      documentationURL: readLink(env, CONSOLE_ENV.documentationURL),
      plainHTTP: env.flag(CONSOLE_ENV.plainHTTP),
      oidc: readOIDC(env, secret),
      logLevel: env.oneOf(CONSOLE_ENV.logLevel, LOG_LEVELS, 'info'),
    };
  });

function readOIDC(env: Environment, secret: string | undefined): OIDCSettings | null {
  const issuer = env.text(CONSOLE_ENV.oidcIssuer);
  if (issuer === undefined) return null;
  const url = URL.parse(issuer);
  if (url?.protocol !== 'https:' || url.search || url.hash)
    env.fail(`${CONSOLE_ENV.oidcIssuer} must be an https:// URL without a query, not "${issuer}"`, '');
  const scopes = env.list(CONSOLE_ENV.oidcScopes);
  if (scopes.length > 0 && !scopes.includes('openid'))
    env.fail(`${CONSOLE_ENV.oidcScopes} must include openid, not only "${scopes.join(',')}"`, '');
  return {
    issuer,
    clientId: env.required(CONSOLE_ENV.oidcClientId),
    clientSecret: secret ? readTextFile(join(secret, 'oidc-client-secret')) : undefined,
    scopes: scopes.length > 0 ? scopes : DEFAULT_SCOPES,
    name: env.text(CONSOLE_ENV.oidcName) ?? null,
    ca: secret ? readTextFile(join(secret, 'oidc-ca.crt')) : undefined,
  };
}

/** Other schemes could run scripts in the page. */
function readLink(env: Environment, name: string): string | null {
  const text = env.text(name);
  if (text === undefined || /^https?:\/\//.test(text)) return text ?? null;
  return env.fail(`${name} must be an http:// or https:// URL, not "${text}"`, null);
}

function readClusterURL(env: Environment): string {
  if (env.text(CONSOLE_ENV.kubernetesURL)) return '';
  const host = env.text('KUBERNETES_SERVICE_HOST');
  if (!host) return env.fail(`${CONSOLE_ENV.kubernetesURL} must be set outside a cluster`, '');
  const port = env.text('KUBERNETES_SERVICE_PORT') ?? '443';
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function readAuthority(env: Environment): string | undefined {
  const path = env.text(CONSOLE_ENV.kubernetesCA);
  return path ? env.requiredFile(path, CONSOLE_ENV.kubernetesCA) : readTextFile(join(ACCOUNT, 'ca.crt'));
}
