/** Names of the environment variables that a gateway reads: the operator sets them, the gateway's environment.ts reads them. */

export const GATEWAY_ENV = {
  /** `sidecar` or `front`. */
  role: 'GATEWAY_ROLE',
  /** host:port, or redis:// or rediss:// URL without credentials. */
  redisURL: 'GATEWAY_REDIS_URL',
  /** If the mounted Secret (below) has none. */
  redisUsername: 'GATEWAY_REDIS_USERNAME',
  redisPassword: 'GATEWAY_REDIS_PASSWORD',
  /** Folder of the mounted Secret (SIDECAR_SECRET_FILES). */
  secretPath: 'GATEWAY_SECRET_PATH',
  /** Sidecar: origin of the engine, such as http://127.0.0.1:8000. */
  engineURL: 'GATEWAY_ENGINE_URL',
  engineHealthPath: 'GATEWAY_ENGINE_HEALTH_PATH',
  /** Sidecar: path of the engine's own metrics, which ENGINE_METRICS_PATH relays; none if absent. */
  engineMetricsPath: 'GATEWAY_ENGINE_METRICS_PATH',
  /** Sidecar: file that marks shared cached weights as in use by this pod; none if absent. */
  weightsLease: 'GATEWAY_WEIGHTS_LEASE',
  /** Sidecar: file that the engine's shell writes when the engine runs out of GPU memory; none if absent. */
  memoryMark: 'GATEWAY_MEMORY_MARK',
  /** Guards /drain on the admin port against accidents. */
  drainToken: 'GATEWAY_DRAIN_TOKEN',
  /** Milliseconds that a drain may take; shortly before, unfinished jobs are released. */
  drainTimeoutMs: 'GATEWAY_DRAIN_TIMEOUT_MS',
  podName: 'GATEWAY_POD_NAME',
  podIP: 'GATEWAY_POD_IP',
  /** Address to listen on; all by default. */
  host: 'GATEWAY_HOST',
  httpPort: 'GATEWAY_HTTP_PORT',
  adminPort: 'GATEWAY_ADMIN_PORT',
  metricsPort: 'GATEWAY_METRICS_PORT',
  /** Front: the port of replicas; only tests set it. */
  replicaPort: 'GATEWAY_REPLICA_PORT',
  /** CIDRs, separated by commas, that tenants' URLs may resolve to although they are not public. */
  egressAllow: 'GATEWAY_EGRESS_ALLOW',
  /** Public CIDRs that tenants' URLs must not resolve to, such as a cluster's pod, service and node ranges. */
  egressDeny: 'GATEWAY_EGRESS_DENY',
  /** `true`: tenants' URLs may be http: if they resolve to what GATEWAY_EGRESS_ALLOW lists. */
  egressPlainHTTP: 'GATEWAY_EGRESS_PLAIN_HTTP',
  /** Sidecar: origin of the front's storage service. */
  storageURL: 'GATEWAY_STORAGE_URL',
  /** Front: base URL of the published documentation; sidecars find it in their configuration. */
  documentationURL: 'GATEWAY_DOCUMENTATION_URL',
  /** Folder for uploads and results in transit; emptied at startup. */
  spoolPath: 'GATEWAY_SPOOL_PATH',
  /** Bytes that it may hold. */
  spoolBytes: 'GATEWAY_SPOOL_BYTES',
  /** Front: maximum bytes of any deployment's requests, whatever the deployment allows. */
  maxJsonBody: 'GATEWAY_MAX_JSON_BODY',
  maxFile: 'GATEWAY_MAX_FILE',
  maxMultipartBody: 'GATEWAY_MAX_MULTIPART_BODY',
  maxPromptCharacters: 'GATEWAY_MAX_PROMPT_CHARACTERS',
  /** Front: maximum number of requests that wait for a replica, of all deployments and of each. */
  maxHeld: 'GATEWAY_MAX_HELD',
  maxHeldPerDeployment: 'GATEWAY_MAX_HELD_PER_DEPLOYMENT',
  /** Front: port of the storage service. */
  internalPort: 'GATEWAY_INTERNAL_PORT',
  /** Front: the managed bucket; none without a name. Its keys are in the mounted Secret. */
  s3Bucket: 'GATEWAY_S3_BUCKET',
  /** URL; AWS if absent. */
  s3Endpoint: 'GATEWAY_S3_ENDPOINT',
  /** Its endpoint for clients, if different. */
  s3PublicEndpoint: 'GATEWAY_S3_PUBLIC_ENDPOINT',
  s3Region: 'GATEWAY_S3_REGION',
  /** Prepended to every key. */
  s3Prefix: 'GATEWAY_S3_PREFIX',
  /** `false`: the bucket is part of the host name. */
  s3PathStyle: 'GATEWAY_S3_PATH_STYLE',
  /** Front: a folder instead of a bucket, and the port of its links. */
  storageFolder: 'GATEWAY_STORAGE_FOLDER',
  storagePort: 'GATEWAY_STORAGE_PORT',
  /** Front: the sender address of messages to owners. The SMTP server is in the mounted Secret. */
  mailFrom: 'GATEWAY_MAIL_FROM',
  logLevel: 'GATEWAY_LOG_LEVEL',
  /** Origin of an OTLP receiver of traces; without it tracing is off. */
  tracingEndpoint: 'GATEWAY_TRACING_ENDPOINT',
  /** Sampling ratio of traces that start at a gateway, from 0 to 1. */
  tracingRatio: 'GATEWAY_TRACING_RATIO',
} as const;

/** Paths of the admin port (PORTS.admin), for probes and hooks. Every one takes GET. */
export const ADMIN_PATHS = {
  /** The gateway's own startupProbe: it listens. */
  startup: '/startup',
  /** The gateway's livenessProbe: the process responds. */
  healthz: '/healthz',
  /** The gateway's readinessProbe: sidecar: the engine is healthy, or its start is still awaited; front: Redis has been seen. */
  readyz: '/readyz',
  /** The engine's startupProbe: it is healthy. */
  engineStartup: '/engine/startup',
  /** The engine's livenessProbe, which acts after 5 minutes of failures: a gateway's restart must not cost a loaded model. */
  engineLiveness: '/engine/liveness',
  /** The engine's preStop hook, with DRAIN_TOKEN_HEADER: responds when the work in flight has ended. */
  drain: '/drain',
} as const;
/** The kubelet's probe intervals; while an engine starts, the sidecar holds a response until shortly before the next probe. */
export const PROBE_PERIOD_SECONDS = { readyz: 2, engineStartup: 3 } as const;
export const DRAIN_TOKEN_HEADER = 'x-berth-drain-token';
/** On PORTS.metrics. */
export const METRICS_PATH = '/metrics';
export const ENGINE_METRICS_PATH = '/engine/metrics';

/** Node's flags for a gateway: a small young generation halves its memory under load and costs no measurable CPU. */
export const GATEWAY_NODE_FLAGS = ['--max-semi-space-size=8'] as const;
