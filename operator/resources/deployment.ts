/** The Deployment and its pods: the gateway as a native sidecar, weight loaders, the engine. */
import type {
  V1Affinity,
  V1DeploymentSpec,
  V1PodResourceClaim,
  V1PodTemplateSpec,
  V1Toleration,
  V1TopologySpreadConstraint,
  V1Volume,
} from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { ANNOTATIONS, CONTAINERS, childNames, LABELS, PORTS, podSelector } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import type { KubeObject } from '../../kube/object.ts';
import { PRESETS } from '../engines/presets.ts';
import { decideAccelerators, gpuTolerations, sharedMemory } from './accelerators.ts';
import { claimGPUs } from './device-claims.ts';
import { buildEngineContainer, HOME } from './engine-container.ts';
import { kvCacheVolume } from './engine-resources.ts';
import { buildGatewayContainer, buildGatewayVolumes, decideGrace } from './gateway-container.ts';
import { childLabels, childMetadata, queueLabels } from './metadata.ts';
import { podSecurity } from './security.ts';
import type { BuildSettings } from './settings.ts';
import type { PinnedTemplate } from './template-pin.ts';
import { buildWeights } from './weights.ts';

/** With `scaling`: the initial number, before the autoscaler decides. */
export function decideReplicas({ paused, replicas, scaling }: ModelDeploymentSpec): number {
  if (paused) return 0;
  return scaling ? scaling.min : (replicas ?? 1);
}

/** The maximum that it may have. */
export const maxReplicas = ({ replicas, scaling }: ModelDeploymentSpec): number =>
  scaling ? Math.max(scaling.max, ...scaling.schedules.map(({ max = 0 }) => max)) : (replicas ?? 1);

/** Scheduling and image pulls, beside the engine's own start. */
const MARGIN_MS = 600_000;

/** `isScaled`: the autoscaler writes its replicas. */
export function buildDeployment(
  model: ModelDeployment,
  pinned: PinnedTemplate,
  isScaled = false,
): KubeObject {
  const { metadata, spec } = model;
  const { maxSurge } = spec.rollout;
  const startMs = parseDuration(spec.engine.startupTimeout);
  const deployment: V1DeploymentSpec = {
    ...(isScaled ? {} : { replicas: decideReplicas(spec) }),
    revisionHistoryLimit: 2,
    // With a surge, no pod is removed before its replacement is ready; without, one at a time (decision 0024).
    strategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge, maxUnavailable: maxSurge > 0 ? 0 : 1 },
    },
    // A replacement stays Pending while the old pod drains and holds the GPU.
    progressDeadlineSeconds: toSeconds(startMs + decideGrace(spec).graceMs + MARGIN_MS),
    selector: { matchLabels: podSelector(metadata.name) },
    template: pinned.template,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(model, childNames(metadata.name).deployment, pinned.annotations),
    spec: deployment,
  };
}

export function buildPodTemplate(model: ModelDeployment, settings: BuildSettings): V1PodTemplateSpec {
  const { metadata, spec } = model;
  const { template, gpu, engine } = spec;
  const accelerators = decideAccelerators(spec);
  const weights = buildWeights(model, settings);
  const memory = sharedMemory(spec, accelerators);
  const cache = kvCacheVolume(spec);
  const claims = [
    ...claimGPUs(model),
    ...((template.resourceClaims ?? []) as unknown as V1PodResourceClaim[]),
  ];
  const pullSecrets = [...new Set([...settings.imagePullSecrets, ...(template.imagePullSecrets ?? [])])];
  return {
    metadata: {
      // The spec's labels come first, so they cannot override Berth's own, which select the pods.
      labels: {
        ...queueLabels(model),
        ...template.labels,
        ...childLabels(model),
        ...podSelector(metadata.name),
        ...(PRESETS[engine.preset].metricsPath ? { [LABELS.engineMetrics]: 'true' } : {}),
      },
      annotations: podAnnotations(spec),
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: toSeconds(decideGrace(spec).graceMs),
      securityContext: podSecurity(PRESETS[engine.preset], settings.platform, template.podSecurityContext),
      initContainers: [buildGatewayContainer(model, settings), ...weights.initContainers],
      containers: [
        buildEngineContainer(model, { weights, mounts: [...memory.mounts, ...cache.mounts], settings }),
      ],
      volumes: [
        ...buildGatewayVolumes(model, settings),
        HOME,
        ...weights.volumes,
        ...memory.volumes,
        ...cache.volumes,
        ...((template.volumes ?? []) as unknown as V1Volume[]),
      ],
      topologySpreadConstraints: spreadConstraints(model),
      tolerations: [...gpuTolerations(spec), ...((template.tolerations ?? []) as unknown as V1Toleration[])],
      ...optional(
        'imagePullSecrets',
        pullSecrets.length > 0 ? pullSecrets.map((name) => ({ name })) : undefined,
      ),
      ...optional('nodeSelector', template.nodeSelector),
      ...optional('affinity', template.affinity as V1Affinity | undefined),
      ...optional('schedulerName', template.schedulerName),
      ...optional('resourceClaims', claims.length > 0 ? claims : undefined),
      ...optional('priorityClassName', template.priorityClassName),
      ...optional('serviceAccountName', template.serviceAccountName),
      ...optional('runtimeClassName', gpu?.runtimeClassName),
    },
  };
}

const optional = <K extends string, T>(key: K, value: T | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };

/** Ports excluded from a service mesh: the kubelet must reach the admin port directly. */
const MESH_ANNOTATIONS = [
  'traffic.sidecar.istio.io/excludeInboundPorts',
  'config.linkerd.io/skip-inbound-ports',
];

function podAnnotations({ template, rollout }: ModelDeployment['spec']): Record<string, string> {
  const given = template.annotations ?? {};
  const ports = MESH_ANNOTATIONS.map((key) => [
    key,
    given[key] ? `${PORTS.admin},${given[key]}` : String(PORTS.admin),
  ]);
  return {
    'kubectl.kubernetes.io/default-container': CONTAINERS.engine,
    ...given,
    ...Object.fromEntries(ports),
    ...(rollout.revision !== undefined && { [ANNOTATIONS.revision]: rollout.revision }),
  };
}

/** Spread over nodes by default, if possible. */
function spreadConstraints({ metadata, spec }: ModelDeployment): V1TopologySpreadConstraint[] {
  const labelSelector = { matchLabels: podSelector(metadata.name) };
  const given = spec.template.topologySpreadConstraints as unknown as
    | V1TopologySpreadConstraint[]
    | undefined;
  return (
    given?.map((constraint) => ({ labelSelector, ...constraint })) ?? [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector,
      },
    ]
  );
}

const toSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1000);
