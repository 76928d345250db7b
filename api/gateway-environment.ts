/** The environment of a gateway: the operator and the chart set it, the gateway's environment.ts reads it. */
import { PORTS, SIDECAR_SECRET_PATH } from './names.ts';
import {
  egress,
  flag,
  integer,
  logLevel,
  namesOf,
  oneOf,
  origin,
  path,
  port,
  required,
  text,
  tracing,
} from './variables.ts';

export const GATEWAY_ROLES = ['sidecar', 'front'] as const;
export type GatewayRole = (typeof GATEWAY_ROLES)[number];

const MIB = 1024 * 1024;
const MAX_BYTES = 2 ** 50;
const MAX_DRAIN_MS = 86_400_000;
const MAX_HELD = 100_000;
const EGRESS = egress('GATEWAY');
const TRACING = tracing('GATEWAY');

export const GATEWAY_VARIABLES = {
  role: required(oneOf('GATEWAY_ROLE', 'Which gateway it is.', GATEWAY_ROLES)),
  redisURL: required(
    text('GATEWAY_REDIS_URL', 'host:port, or a redis:// or rediss:// URL without credentials.'),
  ),
  redisUsername: text('GATEWAY_REDIS_USERNAME', 'User of Redis, if the mounted Secret has none.'),
  redisPassword: text('GATEWAY_REDIS_PASSWORD', 'Password of Redis, if the mounted Secret has none.'),
  secretPath: text('GATEWAY_SECRET_PATH', 'Folder of the mounted Secret.', SIDECAR_SECRET_PATH),
  host: text('GATEWAY_HOST', 'Address to listen on; all if unset.'),
  httpPort: port('GATEWAY_HTTP_PORT', 'Port of the API.', PORTS.http),
  adminPort: port('GATEWAY_ADMIN_PORT', 'Port of probes and hooks.', PORTS.admin),
  metricsPort: port('GATEWAY_METRICS_PORT', 'Port of metrics.', PORTS.metrics),
  logLevel: logLevel('GATEWAY_LOG_LEVEL'),
  tracingEndpoint: TRACING.endpoint,
  tracingRatio: TRACING.sampleRatio,
  drainTimeoutMs: integer(
    'GATEWAY_DRAIN_TIMEOUT_MS',
    'Milliseconds that a drain may take; shortly before, unfinished jobs are released. 180000 in a sidecar and 150000 in a front if unset.',
    { max: MAX_DRAIN_MS },
  ),
  egressAllow: EGRESS.allow,
  egressDeny: EGRESS.deny,
  egressPlainHTTP: EGRESS.plainHTTP,
  spoolPath: text(
    'GATEWAY_SPOOL_PATH',
    'Folder for uploads and results in transit, emptied at startup; one of the system for temporary files if unset.',
  ),
  spoolBytes: integer('GATEWAY_SPOOL_BYTES', 'Bytes that this folder may hold.', {
    max: MAX_BYTES,
    fallback: 1024 * MIB,
  }),
  podName: text('GATEWAY_POD_NAME', "Name of the pod; the host's if unset."),
  podIP: text('GATEWAY_POD_IP', 'Sidecar: address of the pod.', '127.0.0.1'),
  engineURL: required(
    origin('GATEWAY_ENGINE_URL', 'Sidecar: origin of the engine, such as http://127.0.0.1:8000.'),
  ),
  engineHealthPath: path('GATEWAY_ENGINE_HEALTH_PATH', 'Sidecar: health check of the engine.', '/health'),
  engineMetricsPath: path(
    'GATEWAY_ENGINE_METRICS_PATH',
    "Sidecar: path of the engine's own metrics, which the metrics port relays; none if unset.",
  ),
  weightsLease: text(
    'GATEWAY_WEIGHTS_LEASE',
    'Sidecar: file that marks shared cached weights as in use by this pod; none if unset.',
  ),
  memoryMark: text(
    'GATEWAY_MEMORY_MARK',
    "Sidecar: file that the engine's shell writes when the engine runs out of GPU memory; none if unset.",
  ),
  drainToken: required(
    text('GATEWAY_DRAIN_TOKEN', 'Sidecar: guards /drain on the admin port against accidents.'),
  ),
  storageURL: origin(
    'GATEWAY_STORAGE_URL',
    "Sidecar: origin of the front's storage service; no storage if unset.",
  ),
  replicaPort: port('GATEWAY_REPLICA_PORT', 'Front: port of replicas; only tests set it.', PORTS.http),
  internalPort: port('GATEWAY_INTERNAL_PORT', 'Front: port of the storage service.', PORTS.internal),
  documentationURL: text(
    'GATEWAY_DOCUMENTATION_URL',
    'Front: base URL of the published documentation; sidecars find it in their configuration.',
  ),
  // The defaults of a deployment, except for longer prompts: sidecars serve deployments that raise them.
  maxJsonBody: integer(
    'GATEWAY_MAX_JSON_BODY',
    'Front: maximum bytes of a JSON body, whatever the deployment allows.',
    {
      max: MAX_BYTES,
      fallback: 32 * MIB,
    },
  ),
  maxFile: integer('GATEWAY_MAX_FILE', 'Front: the same of a file in a form.', {
    max: MAX_BYTES,
    fallback: 50 * MIB,
  }),
  maxMultipartBody: integer('GATEWAY_MAX_MULTIPART_BODY', 'Front: the same of a whole form.', {
    max: MAX_BYTES,
    fallback: 64 * MIB,
  }),
  maxPromptCharacters: integer('GATEWAY_MAX_PROMPT_CHARACTERS', 'Front: maximum characters of a prompt.', {
    max: 1_000_000,
    fallback: 250_000,
  }),
  maxHeld: integer('GATEWAY_MAX_HELD', 'Front: maximum number of requests that wait for a replica.', {
    max: MAX_HELD,
    fallback: 1_000,
  }),
  maxHeldPerDeployment: integer('GATEWAY_MAX_HELD_PER_DEPLOYMENT', 'Front: the same for each deployment.', {
    max: MAX_HELD,
    fallback: 250,
  }),
  s3Bucket: text(
    'GATEWAY_S3_BUCKET',
    'Front: the managed bucket; none if unset. Its keys are in the mounted Secret.',
  ),
  s3Endpoint: origin('GATEWAY_S3_ENDPOINT', 'Front: URL of the store; AWS if unset.'),
  s3PublicEndpoint: origin(
    'GATEWAY_S3_PUBLIC_ENDPOINT',
    'Front: URL of the store for clients, if it differs.',
  ),
  s3Region: text('GATEWAY_S3_REGION', 'Front: region of the bucket.', 'us-east-1'),
  s3Prefix: text('GATEWAY_S3_PREFIX', 'Front: prepended to every key.', ''),
  s3PathStyle: flag(
    'GATEWAY_S3_PATH_STYLE',
    'Front: `false` makes the bucket a part of the host name.',
    true,
  ),
  storageFolder: text('GATEWAY_STORAGE_FOLDER', 'Front: a folder instead of a bucket.'),
  storagePort: port('GATEWAY_STORAGE_PORT', 'Front: port of the links to that folder; a free one if 0.', 0),
  mailFrom: text(
    'GATEWAY_MAIL_FROM',
    'Front: sender address of messages to owners, required with an SMTP server in the mounted Secret.',
  ),
} as const;

export const GATEWAY_ENV = namesOf(GATEWAY_VARIABLES);

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
