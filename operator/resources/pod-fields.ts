/**
 * The fields of a ModelDeployment by which its pods reach beyond their model. The
 * chart's admission policy decides who may write them, with the same groups; what an installation allows no one is refused here. Pure.
 */
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { API_KEY_SECRET_SUFFIX, KUEUE, SIDECAR_SECRET_SUFFIX, SIGNING_SECRET_NAME } from '../../api/names.ts';
import { isObject } from '../../kit/json.ts';
import type { Problem } from '../status/problem.ts';
import { KV_CACHE_VOLUME } from './engine-resources.ts';
import { describeHostFields } from './host-fields.ts';
import { listSecretNames } from './secret-names.ts';
import type { BuildSettings, PodFieldGroup } from './settings.ts';

/** Volumes that Berth creates in each pod; the first ones are only for the gateway. */
const GATEWAY_VOLUME_PREFIX = 'gateway-';
const BERTH_VOLUMES = ['home', 'weights', 'shared-memory'];
/** Only with `engine.adapters`. */
export const ADAPTER_VOLUME = 'adapters';

/** Volumes that stay within the pod or the namespace's own claims. */
const PLAIN_VOLUMES = ['emptyDir', 'persistentVolumeClaim', 'ephemeral'];

type PodFieldSettings = Pick<
  BuildSettings,
  'namespace' | 'ownSecrets' | 'externalRedisSecret' | 'redisUsers' | 'podFields'
>;

export function findPodFieldProblems(model: ModelDeployment, settings: PodFieldSettings): Problem[] {
  return [
    ...findOwnSecrets(model, settings),
    ...findOwnVolumes(model),
    ...findGroupProblems(model, settings),
    ...(settings.podFields.host ? [] : findHostProblems(model.spec)),
  ];
}

/** The fields of each group that it uses, as paths. */
export function listPodFields({
  metadata,
  spec,
}: Pick<ModelDeployment, 'metadata' | 'spec'>): Partial<Record<PodFieldGroup, string[]>> {
  const { engine, template, gpu, model } = spec;
  const paths: Record<PodFieldGroup, (string | false | undefined)[]> = {
    images: [
      engine.image !== undefined && 'spec.engine.image',
      engine.command && 'spec.engine.command',
      engine.preset === 'custom' && 'spec.engine.preset custom',
      model.source.image?.mode === 'Copy' && 'spec.model.source.image.mode Copy',
    ],
    secrets: listSecretFields(spec),
    serviceAccounts: [template.serviceAccountName && 'spec.template.serviceAccountName'],
    volumes: (template.volumes ?? []).map(
      (volume, index) => !isPlainVolume(volume) && `spec.template.volumes[${index}]`,
    ),
    security: [
      template.podSecurityContext && 'spec.template.podSecurityContext',
      template.securityContext && 'spec.template.securityContext',
    ],
    metadata: [
      template.labels && 'spec.template.labels',
      template.annotations && 'spec.template.annotations',
    ],
    priority: [
      template.priorityClassName && 'spec.template.priorityClassName',
      metadata.labels?.[KUEUE.priority] !== undefined && `metadata.labels[${KUEUE.priority}]`,
    ],
    runtime: [gpu?.runtimeClassName && 'spec.gpu.runtimeClassName'],
    placement: [
      template.nodeSelector && 'spec.template.nodeSelector',
      template.tolerations && 'spec.template.tolerations',
      template.affinity && 'spec.template.affinity',
      template.topologySpreadConstraints && 'spec.template.topologySpreadConstraints',
      template.schedulerName && 'spec.template.schedulerName',
    ],
  };
  const used = Object.entries(paths).map(([group, found]) => [group, found.filter(Boolean)] as const);
  return Object.fromEntries(used.filter(([, found]) => found.length > 0)) as ReturnType<typeof listPodFields>;
}

function listSecretFields({ engine, template, model }: ModelDeploymentSpec): (string | false | undefined)[] {
  const reads = (source: unknown): boolean =>
    isObject(source) && (source.secretKeyRef !== undefined || source.configMapKeyRef !== undefined);
  return [
    model.source.huggingFace?.tokenSecret && 'spec.model.source.huggingFace.tokenSecret',
    ...engine.env.map(({ valueFrom }, index) => reads(valueFrom) && `spec.engine.env[${index}]`),
    engine.envFrom.length > 0 && 'spec.engine.envFrom',
    (template.imagePullSecrets?.length ?? 0) > 0 && 'spec.template.imagePullSecrets',
  ];
}

const isPlainVolume = (volume: Record<string, unknown>): boolean =>
  Object.keys(volume).every((key) => key === 'name' || PLAIN_VOLUMES.includes(key));

/** They hold the workspace's Redis user and keys: engines must not have them. */
function findOwnSecrets({ metadata, spec }: ModelDeployment, settings: PodFieldSettings): Problem[] {
  const isOwn = (name: string): boolean =>
    name.endsWith(SIDECAR_SECRET_SUFFIX) ||
    name.endsWith(API_KEY_SECRET_SUFFIX) ||
    name === SIGNING_SECRET_NAME ||
    (settings.redisUsers === 'external' && name === settings.externalRedisSecret) ||
    (metadata.namespace === settings.namespace && settings.ownSecrets.includes(name));
  return listSecretNames(spec)
    .filter(({ name }) => isOwn(name))
    .map(({ name, path }) => ({
      reason: 'SecretNotAllowed',
      message: `${path}: Secret ${name} is reserved for Berth (as are all named *${SIDECAR_SECRET_SUFFIX} and *${API_KEY_SECRET_SUFFIX}), and engines cannot use it: use a Secret with another name`,
    }));
}

function findOwnVolumes({ spec }: ModelDeployment): Problem[] {
  const isGateways = (name: unknown) => String(name).startsWith(GATEWAY_VOLUME_PREFIX);
  const own = [
    ...BERTH_VOLUMES,
    ...(spec.engine.kvCache?.disk ? [KV_CACHE_VOLUME] : []),
    ...(spec.engine.adapters ? [ADAPTER_VOLUME] : []),
  ];
  const taken = (spec.template.volumes ?? []).flatMap(({ name }, index) =>
    isGateways(name) || own.includes(String(name))
      ? [`spec.template.volumes[${index}].name: ${name} is reserved for Berth: use another name`]
      : [],
  );
  const mounted = (spec.template.volumeMounts ?? []).flatMap(({ name }, index) =>
    isGateways(name)
      ? [
          `spec.template.volumeMounts[${index}].name: ${name} is reserved for the gateway and cannot be mounted by the engine`,
        ]
      : [],
  );
  return [...taken, ...mounted].map((message) => ({ reason: 'VolumeNotAllowed', message }));
}

function findGroupProblems(model: ModelDeployment, { podFields }: PodFieldSettings): Problem[] {
  return Object.entries(listPodFields(model))
    .filter(([group]) => !podFields.groups.includes(group as PodFieldGroup))
    .map(([group, paths]) => ({
      reason: 'PodFieldNotAllowed',
      message: `${paths.join(', ')}: this installation does not allow these fields; its administrator can allow them with ${group} in the chart's podFields.everyone`,
    }));
}

function findHostProblems(spec: ModelDeploymentSpec): Problem[] {
  return describeHostFields(spec.template).map((field) => ({
    reason: 'PodFieldNotAllowed',
    message: `spec.template.${field} gives access to the node, which this installation does not allow; its administrator can allow it with podFields.host in the chart`,
  }));
}
