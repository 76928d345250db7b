/** Names of the environment variables that the console reads: the chart and `make run` set them. */

export const CONSOLE_ENV = {
  /** Address to listen on; all by default. */
  host: 'CONSOLE_HOST',
  /** 8080 by default. Serves /healthz and /readyz too. */
  port: 'CONSOLE_PORT',
  /** Prometheus; 9090 by default. */
  metricsPort: 'CONSOLE_METRICS_PORT',
  /** Folder of the built page. */
  webFolder: 'CONSOLE_WEB_FOLDER',
  /** Origin of the API server; the pod's own cluster if absent. */
  kubernetesURL: 'CONSOLE_KUBERNETES_URL',
  /** PEM file of its authority; the pod's own if absent. */
  kubernetesCA: 'CONSOLE_KUBERNETES_CA',
  /** File of the console's own token, for what users are not permitted to do; the pod's own if absent. */
  tokenPath: 'CONSOLE_TOKEN_PATH',
  redisURL: 'CONSOLE_REDIS_URL',
  /** Folder of the mounted Secret: redis-username, redis-password, redis-ca.crt, oidc-client-secret, oidc-ca.crt. */
  secretPath: 'CONSOLE_SECRET_PATH',
  /** Origin where all deployments' hosts are served, for the playground; their own URLs if absent. */
  frontURL: 'CONSOLE_FRONT_URL',
  /** Origin by which browsers reach the console; the Host header's if absent. */
  publicURL: 'CONSOLE_PUBLIC_URL',
  /** Base URL of the published documentation, for the page's link; without it, the page links to its own list of errors. */
  documentationURL: 'CONSOLE_DOCUMENTATION_URL',
  /** `true`: serves browsers by plain http on any host, with a cookie that is not Secure. On loopback http is always accepted. */
  plainHTTP: 'CONSOLE_PLAIN_HTTP',
  /** URL of the OpenID Connect issuer that the API server trusts, too; no sign-in by OIDC if absent. */
  oidcIssuer: 'CONSOLE_OIDC_ISSUER',
  /** The audience of ID tokens that the API server accepts. */
  oidcClientId: 'CONSOLE_OIDC_CLIENT_ID',
  /** Separated by commas; `openid,email,profile` by default. */
  oidcScopes: 'CONSOLE_OIDC_SCOPES',
  /** Name of the identity provider on the sign-in button. */
  oidcName: 'CONSOLE_OIDC_NAME',
  logLevel: 'CONSOLE_LOG_LEVEL',
} as const;
