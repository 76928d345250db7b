/** The environment of the console: the chart and `make run` set it, the console's environment.ts reads it. */
import { PORTS } from './names.ts';
import { flag, list, logLevel, namesOf, origin, port, required, text } from './variables.ts';

export const CONSOLE_VARIABLES = {
  host: text('CONSOLE_HOST', 'Address to listen on; all if unset.'),
  port: port('CONSOLE_PORT', 'Port of the page, its API, /healthz and /readyz.', PORTS.http),
  metricsPort: port('CONSOLE_METRICS_PORT', 'Port of metrics.', PORTS.metrics),
  webFolder: text('CONSOLE_WEB_FOLDER', "Folder of the built page; the program's own if unset."),
  kubernetesURL: origin(
    'CONSOLE_KUBERNETES_URL',
    "Origin of the API server; the pod's own cluster if unset.",
  ),
  kubernetesCA: text('CONSOLE_KUBERNETES_CA', "PEM file of its authority; the pod's own if unset."),
  tokenPath: text(
    'CONSOLE_TOKEN_PATH',
    "File of the console's own token, for what users are not permitted to do.",
    '/var/run/secrets/kubernetes.io/serviceaccount/token',
  ),
  redisURL: required(text('CONSOLE_REDIS_URL', 'redis:// or rediss:// URL without credentials.')),
  secretPath: text(
    'CONSOLE_SECRET_PATH',
    'Folder of the mounted Secret: redis-username, redis-password, redis-ca.crt, oidc-client-secret, oidc-ca.crt.',
  ),
  frontURL: origin(
    'CONSOLE_FRONT_URL',
    "Origin where all deployments' hosts are served, for the playground; their own URLs if unset.",
  ),
  publicURL: origin(
    'CONSOLE_PUBLIC_URL',
    "Origin by which browsers reach the console; the Host header's if unset.",
  ),
  documentationURL: text(
    'CONSOLE_DOCUMENTATION_URL',
    'Base URL of the published documentation; the page links to its own list of errors if unset.',
  ),
  plainHTTP: flag(
    'CONSOLE_PLAIN_HTTP',
    '`true` serves browsers by plain http on any host, with a cookie that is not Secure. On loopback http is always accepted.',
  ),
  oidcIssuer: text(
    'CONSOLE_OIDC_ISSUER',
    'https:// URL of the OpenID Connect issuer that the API server trusts; no sign-in by OIDC if unset.',
  ),
  oidcClientId: text(
    'CONSOLE_OIDC_CLIENT_ID',
    'Audience of ID tokens that the API server accepts, required with an issuer.',
  ),
  oidcScopes: list('CONSOLE_OIDC_SCOPES', 'Scopes, with openid; `openid,email,profile` if unset.'),
  oidcName: text('CONSOLE_OIDC_NAME', 'Name of the identity provider on the button.'),
  logLevel: logLevel('CONSOLE_LOG_LEVEL'),
} as const;

export const CONSOLE_ENV = namesOf(CONSOLE_VARIABLES);
