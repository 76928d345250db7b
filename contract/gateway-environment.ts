/** Names of the environment variables that a gateway reads: the operator sets them, the gateway's environment.ts reads them. */

export const GATEWAY_ENV = {
  /** `sidecar`, `front` or `local`. */
  role: 'GATEWAY_ROLE',
  /** host:port, or redis:// or rediss:// URL without credentials. */
  redisURL: 'GATEWAY_REDIS_URL',
  /** Folder of the mounted Secret (SIDECAR_SECRET_FILES). */
  secretPath: 'GATEWAY_SECRET_PATH',
  /** Sidecar: origin of the engine, such as http://127.0.0.1:8000. */
  engineURL: 'GATEWAY_ENGINE_URL',
  engineHealthPath: 'GATEWAY_ENGINE_HEALTH_PATH',
  /** Guards /drain on the admin port against accidents. */
  drainToken: 'GATEWAY_DRAIN_TOKEN',
  /** Milliseconds that a drain may take; shortly before, unfinished jobs are given back. */
  drainTimeoutMs: 'GATEWAY_DRAIN_TIMEOUT_MS',
  podName: 'GATEWAY_POD_NAME',
  podIP: 'GATEWAY_POD_IP',
  httpPort: 'GATEWAY_HTTP_PORT',
  adminPort: 'GATEWAY_ADMIN_PORT',
  metricsPort: 'GATEWAY_METRICS_PORT',
  logLevel: 'GATEWAY_LOG_LEVEL',
} as const;
