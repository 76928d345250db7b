/** The gateway as a native sidecar, which starts before the engine and stops after it. */
import type { V1Container, V1EnvVar, V1Probe, V1Volume } from '@kubernetes/client-node';
import {
  ADMIN_PATHS,
  GATEWAY_ENV,
  GATEWAY_NODE_FLAGS,
  PROBE_PERIOD_SECONDS,
} from '../../api/gateway-environment.ts';
import { drainToken } from '../../api/identity.ts';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import {
  CONTAINERS,
  childNames,
  HTTP_PORT_NAME,
  PORTS,
  SIDECAR_SECRET_FILES,
  SIDECAR_SECRET_PATH,
} from '../../api/names.ts';
import { parseDuration, parseQuantity } from '../../api/quantity.ts';
import { ENGINE_HOST, variables } from '../engines/engine.ts';
import { PRESETS } from '../engines/presets.ts';
import { buildEngineNotes } from './engine-notes.ts';
import { restricted } from './security.ts';
import type { BuildSettings } from './settings.ts';
import { sidecarImage } from './sidecar-revision.ts';
import { buildLease } from './weights-cache.ts';

const SECRET_VOLUME = 'gateway-secret';
const TEMPORARY_VOLUME = 'gateway-tmp';
const SPOOL_VOLUME = 'gateway-spool';
const SPOOL_PATH = '/var/spool/berth';
const GIBIBYTE = 1024 ** 3;

/** Bytes of uploads and results in transit; absent if there are none. */
const SPOOL_BYTES: Partial<Record<ModelDeployment['spec']['kind'], number>> = {
  // Files of batches.
  LLM: GIBIBYTE,
  Embedding: GIBIBYTE,
  Rerank: GIBIBYTE,
  Image: GIBIBYTE,
  Video: 4 * GIBIBYTE,
  Transcription: GIBIBYTE,
};

/** A gateway on a node without a spare core responds late. */
export const PROBE_TIMEOUT_SECONDS = 10;

export const adminProbe = (path: string, probe: V1Probe): V1Probe => ({
  httpGet: { path, port: PORTS.admin },
  ...probe,
});

export function buildGatewayContainer(model: ModelDeployment, settings: BuildSettings): V1Container {
  const notes = buildEngineNotes(model.spec);
  return {
    name: CONTAINERS.gateway,
    image: sidecarImage(settings),
    imagePullPolicy: settings.imagePullPolicy,
    restartPolicy: 'Always',
    args: ['gateway/main.js'],
    env: buildEnvironment(model, settings),
    ports: [
      { name: HTTP_PORT_NAME, containerPort: PORTS.http },
      { name: 'admin', containerPort: PORTS.admin },
      { name: 'metrics', containerPort: PORTS.metrics },
    ],
    // Only "listening": the engine is started after this.
    startupProbe: adminProbe(ADMIN_PATHS.startup, {
      periodSeconds: 1,
      timeoutSeconds: PROBE_TIMEOUT_SECONDS,
      failureThreshold: 300,
    }),
    readinessProbe: adminProbe(ADMIN_PATHS.readyz, {
      periodSeconds: PROBE_PERIOD_SECONDS.readyz,
      timeoutSeconds: PROBE_TIMEOUT_SECONDS,
      failureThreshold: 3,
    }),
    livenessProbe: adminProbe(ADMIN_PATHS.healthz, {
      periodSeconds: 10,
      timeoutSeconds: PROBE_TIMEOUT_SECONDS,
      failureThreshold: 12,
    }),
    resources: settings.gatewayResources,
    securityContext: restricted(settings.platform),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: SECRET_VOLUME, mountPath: SIDECAR_SECRET_PATH, readOnly: true },
      { name: TEMPORARY_VOLUME, mountPath: '/tmp' },
      ...(SPOOL_BYTES[model.spec.kind] ? [{ name: SPOOL_VOLUME, mountPath: SPOOL_PATH }] : []),
      ...(buildLease(model)?.mounts ?? []),
      ...(notes ? [{ ...notes.mount, readOnly: true }] : []),
    ],
  };
}

function buildEnvironment(model: ModelDeployment, settings: BuildSettings): V1EnvVar[] {
  const { metadata, spec } = model;
  const { name, namespace } = metadata;
  const lease = buildLease(model);
  const notes = buildEngineNotes(spec);
  const { metricsPath } = PRESETS[spec.engine.preset];
  const heap = heapMebibytes(settings.gatewayResources.limits?.memory);
  return [
    ...variables({
      [GATEWAY_ENV.role]: 'sidecar',
      [GATEWAY_ENV.redisURL]: settings.redisURL,
      [GATEWAY_ENV.secretPath]: SIDECAR_SECRET_PATH,
      [GATEWAY_ENV.engineURL]: `http://${ENGINE_HOST}:${spec.engine.port}`,
      [GATEWAY_ENV.engineHealthPath]: spec.engine.healthPath,
      ...(metricsPath ? { [GATEWAY_ENV.engineMetricsPath]: metricsPath } : {}),
      ...(lease ? { [GATEWAY_ENV.weightsLease]: lease.path } : {}),
      ...(notes ? { [GATEWAY_ENV.memoryMark]: notes.memoryMark } : {}),
      [GATEWAY_ENV.drainToken]: drainToken(settings.masterKey, namespace, name),
      [GATEWAY_ENV.drainTimeoutMs]: String(decideGrace(spec).drainMs),
      [GATEWAY_ENV.logLevel]: settings.gatewayLogLevel,
      ...describeTracing(settings),
      ...describeEgress(settings),
      ...describeStorage(spec.kind, settings),
      NODE_OPTIONS: [...GATEWAY_NODE_FLAGS, ...(heap ? [`--max-old-space-size=${heap}`] : [])].join(' '),
    }),
    { name: GATEWAY_ENV.podName, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: GATEWAY_ENV.podIP, valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ];
}

/** Omitted if unset, like what follows, so that the template stays unchanged. */
const describeTracing = ({ gatewayTracing: tracing }: BuildSettings): Record<string, string> =>
  tracing === null
    ? {}
    : {
        [GATEWAY_ENV.tracingEndpoint]: tracing.endpoint,
        [GATEWAY_ENV.tracingRatio]: String(tracing.sampleRatio),
      };

function describeEgress({ egress }: BuildSettings): Record<string, string> {
  return {
    ...(egress.allow.length > 0 ? { [GATEWAY_ENV.egressAllow]: egress.allow.join(',') } : {}),
    ...(egress.deny.length > 0 ? { [GATEWAY_ENV.egressDeny]: egress.deny.join(',') } : {}),
    ...(egress.plainHTTP ? { [GATEWAY_ENV.egressPlainHTTP]: 'true' } : {}),
  };
}

function describeStorage(
  kind: ModelDeployment['spec']['kind'],
  { storageURL }: BuildSettings,
): Record<string, string> {
  const bytes = SPOOL_BYTES[kind];
  return {
    // Text endpoints too: they list all requests of their workspace, with links to the results.
    ...(storageURL === undefined ? {} : { [GATEWAY_ENV.storageURL]: storageURL }),
    ...(bytes === undefined
      ? {}
      : { [GATEWAY_ENV.spoolPath]: `${SPOOL_PATH}/files`, [GATEWAY_ENV.spoolBytes]: String(bytes) }),
  };
}

/** Three quarters of the limit: buffers and stacks live beside the heap. */
function heapMebibytes(limit: string | undefined): number | undefined {
  const bytes = parseQuantity(limit ?? '');
  return Number.isNaN(bytes) ? undefined : Math.floor((bytes * 0.75) / 1024 ** 2);
}

export function buildGatewayVolumes(
  { metadata, spec }: ModelDeployment,
  { redisUsers, externalRedisSecret }: Pick<BuildSettings, 'redisUsers' | 'externalRedisSecret'>,
): V1Volume[] {
  const notes = buildEngineNotes(spec);
  const own = { secret: { name: childNames(metadata.name).sidecarSecret } };
  const external = {
    secret: {
      name: externalRedisSecret,
      items: [
        { key: 'username', path: SIDECAR_SECRET_FILES.redisUsername },
        { key: 'password', path: SIDECAR_SECRET_FILES.redisPassword },
      ],
    },
  };
  return [
    { name: SECRET_VOLUME, projected: { sources: redisUsers === 'external' ? [own, external] : [own] } },
    { name: TEMPORARY_VOLUME, emptyDir: {} },
    ...buildSpoolVolume(spec.kind),
    ...(notes ? [notes.volume] : []),
  ];
}

/** The gateway keeps its own limit; the volume's is higher, since a pod that exceeds it is evicted. */
function buildSpoolVolume(kind: ModelDeployment['spec']['kind']): V1Volume[] {
  const bytes = SPOOL_BYTES[kind];
  if (bytes === undefined) return [];
  return [{ name: SPOOL_VOLUME, emptyDir: { sizeLimit: `${(bytes * 1.25) / 1024 ** 2}Mi` } }];
}

const MINUTE_MS = 60_000;
const DRAIN_MS = {
  LLM: 3,
  Embedding: 3,
  Rerank: 3,
  Image: 5,
  Video: 35,
  Transcription: 3,
  Speech: 3,
} as const;
/** After the drain the engine and then the gateway end. */
export const ENDING_MS = 30_000;

export interface Grace {
  /** Longest wait for work in flight. */
  drainMs: number;
  /** Maximum lifetime of a pod after its deletion. */
  graceMs: number;
}

/** How long a pod may take to terminate. */
export function decideGrace({ kind, rollout }: Pick<ModelDeploymentSpec, 'kind' | 'rollout'>): Grace {
  const drainMs = rollout.drainTimeout ? parseDuration(rollout.drainTimeout) : DRAIN_MS[kind] * MINUTE_MS;
  return { drainMs, graceMs: drainMs + ENDING_MS };
}
