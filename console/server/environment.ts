/** The only place where the console reads `process.env` and mounted files. */
import { join } from 'node:path';
import { CONSOLE_VARIABLES } from '../../api/console-environment.ts';
import { required, text, type Variable } from '../../api/variables.ts';
import { type Environment, parseEnvironment, readTextFile, type Variables } from '../../kit/environment.ts';
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

/** The pod's own cluster, set by the kubelet. */
const CLUSTER_HOST = text('KUBERNETES_SERVICE_HOST', 'Host of the API server.');
const CLUSTER_PORT = text('KUBERNETES_SERVICE_PORT', 'Its port.', '443');
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const DEFAULT_SCOPES = ['openid', 'email', 'profile'];
const WEB_FOLDER = join(import.meta.dirname, '../web/dist');

export const readVariables = (): Variables => process.env;

/** Throws EnvironmentError. */
export const readEnvironment = (variables: Variables): ConsoleEnvironment =>
  parseEnvironment(variables, (env) => {
    const secret = env.read(CONSOLE_VARIABLES.secretPath);
    return {
      host: env.read(CONSOLE_VARIABLES.host),
      port: env.read(CONSOLE_VARIABLES.port),
      metricsPort: env.read(CONSOLE_VARIABLES.metricsPort),
      webFolder: env.read(CONSOLE_VARIABLES.webFolder) ?? WEB_FOLDER,
      kubernetesURL: env.read(CONSOLE_VARIABLES.kubernetesURL) ?? readClusterURL(env),
      kubernetesCA: readAuthority(env),
      tokenPath: env.read(CONSOLE_VARIABLES.tokenPath),
      redisURL: env.read(CONSOLE_VARIABLES.redisURL),
      redisUsername: secret ? readTextFile(join(secret, 'redis-username')) : undefined,
      redisPassword: secret ? readTextFile(join(secret, 'redis-password')) : undefined,
      redisCAFile: secret ? join(secret, 'redis-ca.crt') : undefined,
      frontURL: env.read(CONSOLE_VARIABLES.frontURL) ?? null,
      publicURL: env.read(CONSOLE_VARIABLES.publicURL) ?? null,
      documentationURL: readLink(env, CONSOLE_VARIABLES.documentationURL),
      plainHTTP: env.read(CONSOLE_VARIABLES.plainHTTP),
      oidc: readOIDC(env, secret),
      logLevel: env.read(CONSOLE_VARIABLES.logLevel),
    };
  });

function readOIDC(env: Environment, secret: string | undefined): OIDCSettings | null {
  const issuer = env.read(CONSOLE_VARIABLES.oidcIssuer);
  if (issuer === undefined) return null;
  const url = URL.parse(issuer);
  if (url?.protocol !== 'https:' || url.search || url.hash)
    env.fail(
      `${CONSOLE_VARIABLES.oidcIssuer.name} must be an https:// URL without a query, not "${issuer}"`,
      '',
    );
  const scopes = env.read(CONSOLE_VARIABLES.oidcScopes);
  if (scopes.length > 0 && !scopes.includes('openid'))
    env.fail(`${CONSOLE_VARIABLES.oidcScopes.name} must include openid, not only "${scopes.join(',')}"`, '');
  return {
    issuer,
    clientId: env.read(required(CONSOLE_VARIABLES.oidcClientId)),
    clientSecret: secret ? readTextFile(join(secret, 'oidc-client-secret')) : undefined,
    scopes: scopes.length > 0 ? [...scopes] : DEFAULT_SCOPES,
    name: env.read(CONSOLE_VARIABLES.oidcName) ?? null,
    ca: secret ? readTextFile(join(secret, 'oidc-ca.crt')) : undefined,
  };
}

/** Other schemes could run scripts in the page. */
function readLink(env: Environment, variable: Variable<string | undefined>): string | null {
  const link = env.read(variable);
  if (link === undefined || /^https?:\/\//.test(link)) return link ?? null;
  return env.fail(`${variable.name} must be an http:// or https:// URL, not "${link}"`, null);
}

function readClusterURL(env: Environment): string {
  if (env.read(CONSOLE_VARIABLES.kubernetesURL)) return '';
  const host = env.read(CLUSTER_HOST);
  if (!host) return env.fail(`${CONSOLE_VARIABLES.kubernetesURL.name} must be set outside a cluster`, '');
  const port = env.read(CLUSTER_PORT);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function readAuthority(env: Environment): string | undefined {
  const path = env.read(CONSOLE_VARIABLES.kubernetesCA);
  return path
    ? env.requiredFile(path, CONSOLE_VARIABLES.kubernetesCA)
    : readTextFile(join(ACCOUNT, 'ca.crt'));
}
