/** Weights in a claim that deployments share: loaded by an init container, or by a Job ahead of the pods. */
import { createHash } from 'node:crypto';
import type { V1Container, V1EnvVar, V1JobSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ModelSource } from '../../api/model-source.ts';
import { ANNOTATIONS, childNames, LABELS, MANAGED_BY } from '../../api/names.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { CURRENT, LEASES, WEIGHTS_ENV } from '../../api/weights-cache.ts';
import { type KubeObject, stableStringify } from '../../kube/object.ts';
import { ENGINE_HOME, mergeVariables, variables } from '../engines/engine.ts';
import { PRESETS } from '../engines/presets.ts';
import { childMetadata } from './metadata.ts';
import { podSecurity, restricted } from './security.ts';
import type { BuildSettings } from './settings.ts';
import { sidecarImage } from './sidecar-revision.ts';
import { joinPath, MODELS_PATH, WEIGHTS_VOLUME } from './weights-copy.ts';

const CACHE_PATH = '/var/cache/berth-weights';
/** As for an engine that downloads by itself. */
const PASSED_ON = ['HF_ENDPOINT', 'HF_TOKEN', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];
const MAX_READABLE = 40;
/** Retries of a failed prefetch; pods retry anyway. Nothing else downloads an adapter: its Job goes on, at the kubelet's pace. */
const PREFETCH_RETRIES = 3;
const ADAPTER_RETRIES = 2 ** 31 - 1;
/** For a very slow hub. */
const PREFETCH_SECONDS = 86_400;
const LOADER_RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };

type CacheSettings = Pick<
  BuildSettings,
  'gatewayImage' | 'imageRegistry' | 'imagePullPolicy' | 'imagePullSecrets' | 'downloadEnv' | 'platform'
>;

/**
 * The folder of a source in the cache: different for any difference, including credentials and the hub's address.
 * Otherwise a user with their own hub could fill others' folders, or get theirs while that hub does not respond (decision 0265).
 */
export function cacheEntry({ spec }: Pick<ModelDeployment, 'spec'>): string {
  const { huggingFace, s3 } = spec.model.source;
  const source = huggingFace ? { ...huggingFace, cache: undefined } : { ...s3, size: undefined };
  const env = listPassedOn(spec);
  const identity = {
    ...source,
    ...(env.length > 0 && { env }),
    ...(s3?.workloadIdentity && { serviceAccount: spec.template.serviceAccountName ?? '' }),
  };
  const hash = createHash('sha256').update(stableStringify(identity)).digest('hex').slice(0, 16);
  const last = (huggingFace?.repo ?? s3?.uri ?? '').replace(/\/+$/, '').split('/').at(-1)!;
  const readable = last
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/^[-.]+/, '')
    .slice(0, MAX_READABLE);
  return `${readable || 'model'}-${hash}`;
}

const listPassedOn = ({ engine }: ModelDeployment['spec']): V1EnvVar[] =>
  (engine.env as unknown as V1EnvVar[]).filter(({ name }) => PASSED_ON.includes(name));

export interface CachedWeights {
  path: string;
  volumes: V1Volume[];
  mounts: V1VolumeMount[];
  env: V1EnvVar[];
  initContainers: V1Container[];
}

/** The engine sees only its own source's folder, read-only, and does not contact a hub. */
export function buildCachedWeights(model: ModelDeployment, settings: CacheSettings): CachedWeights {
  const { source } = model.spec.model;
  const { claimName } = source.cache!;
  const file = source.s3?.uri.endsWith('.gguf') ? source.s3.uri.split('/').at(-1)! : '';
  return {
    path: joinPath(`${MODELS_PATH}/${CURRENT}`, file),
    volumes: [{ name: WEIGHTS_VOLUME, persistentVolumeClaim: { claimName } }],
    mounts: [{ name: WEIGHTS_VOLUME, mountPath: MODELS_PATH, subPath: cacheEntry(model), readOnly: true }],
    env: variables({
      HF_HOME: `${ENGINE_HOME}/.cache/huggingface`,
      ...(source.huggingFace && { HF_HUB_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1' }),
    }),
    initContainers: [
      buildLoader(model, settings, [
        { name: WEIGHTS_ENV.podName, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ]),
    ],
  };
}

/** The gateway protects what its engine reads from eviction. */
export function buildLease(model: ModelDeployment): { path: string; mounts: V1VolumeMount[] } | undefined {
  if (!model.spec.model.source.cache) return undefined;
  return {
    path: `${CACHE_PATH}/${cacheEntry(model)}/${LEASES}`,
    mounts: [{ name: WEIGHTS_VOLUME, mountPath: CACHE_PATH }],
  };
}

/** `folder`: that of adapters within the claim; the claim itself if absent. */
function buildLoader(
  model: ModelDeployment,
  settings: CacheSettings,
  env: V1EnvVar[],
  folder?: string,
): V1Container {
  const { spec } = model;
  const { source } = spec.model;
  const passedOn = listPassedOn(spec);
  const hasProxy = [...settings.downloadEnv, ...passedOn].some(({ name }) => name.endsWith('_PROXY'));
  const limit = source.cache?.limit;
  return {
    name: 'fetch-weights',
    image: sidecarImage(settings),
    imagePullPolicy: settings.imagePullPolicy,
    args: ['weights/main.js'],
    env: mergeVariables(
      variables({
        [WEIGHTS_ENV.cachePath]: CACHE_PATH,
        [WEIGHTS_ENV.entry]: cacheEntry(model),
        ...(limit && { [WEIGHTS_ENV.limitBytes]: String(Math.floor(parseQuantity(limit))) }),
        ...(hasProxy && { NODE_USE_ENV_PROXY: '1' }),
        ...(folder && { [WEIGHTS_ENV.isRequired]: 'true' }),
      }),
      env,
      describeSource(source),
      settings.downloadEnv,
      passedOn,
    ),
    // Namespaces with a quota refuse pods without resources.
    resources: LOADER_RESOURCES,
    volumeMounts: [{ name: WEIGHTS_VOLUME, mountPath: CACHE_PATH, ...(folder && { subPath: folder }) }],
    securityContext: restricted(settings.platform),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

function describeSource({ huggingFace, s3 }: ModelSource): V1EnvVar[] {
  const fromSecret = (name: string, secret: string, key: string): V1EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key } },
  });
  if (huggingFace) {
    const { repo, revision, tokenSecret } = huggingFace;
    return [
      ...variables({
        [WEIGHTS_ENV.repository]: repo,
        ...(revision && { [WEIGHTS_ENV.revision]: revision }),
      }),
      ...(tokenSecret ? [fromSecret(WEIGHTS_ENV.token, tokenSecret.name, tokenSecret.key)] : []),
    ];
  }
  const { uri, endpoint, region, pathStyle, workloadIdentity, secret } = s3!;
  return [
    ...variables({
      [WEIGHTS_ENV.s3URI]: uri,
      [WEIGHTS_ENV.s3Region]: region,
      [WEIGHTS_ENV.s3PathStyle]: String(pathStyle),
      ...(endpoint && { [WEIGHTS_ENV.s3Endpoint]: endpoint }),
      // The pod's own identity, never its node's.
      ...(workloadIdentity && {
        [WEIGHTS_ENV.s3WorkloadIdentity]: 'true',
        AWS_EC2_METADATA_DISABLED: 'true',
      }),
    }),
    ...(secret
      ? [
          fromSecret(WEIGHTS_ENV.s3AccessKeyId, secret, 'accessKeyId'),
          fromSecret(WEIGHTS_ENV.s3SecretAccessKey, secret, 'secretAccessKey'),
        ]
      : []),
  ];
}

/**
 * Downloads the weights on any node that can mount the claim, without a GPU; undefined if not requested. `adapterFolder`: within the
 * claim, for an adapter.
 */
export function buildPrefetchJob(
  model: ModelDeployment,
  settings: CacheSettings,
  adapterFolder?: string,
): KubeObject | undefined {
  const { metadata, spec } = model;
  const { engine, template } = spec;
  const { source } = spec.model;
  if (!source.cache?.prefetch) return undefined;
  const pullSecrets = [...new Set([...settings.imagePullSecrets, ...(template.imagePullSecrets ?? [])])];
  const { cache } = source;
  const hash = createHash('sha256')
    .update(stableStringify([cacheEntry(model), cache]))
    .digest('hex');
  const job: V1JobSpec = {
    ...(adapterFolder
      ? { backoffLimit: ADAPTER_RETRIES }
      : { backoffLimit: PREFETCH_RETRIES, activeDeadlineSeconds: PREFETCH_SECONDS }),
    template: {
      // Neither the Service nor a network policy of the deployment selects these pods.
      metadata: { labels: { [LABELS.managedBy]: MANAGED_BY, [LABELS.component]: 'prefetch' } },
      spec: {
        restartPolicy: 'OnFailure',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: podSecurity(PRESETS[engine.preset], settings.platform, template.podSecurityContext),
        containers: [buildLoader(model, settings, [], adapterFolder)],
        volumes: [{ name: WEIGHTS_VOLUME, persistentVolumeClaim: { claimName: cache.claimName } }],
        ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
        ...(template.serviceAccountName && { serviceAccountName: template.serviceAccountName }),
      },
    },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: childMetadata(model, childNames(metadata.name).prefetchJob, {
      [ANNOTATIONS.prefetched]: hash.slice(0, 32),
    }),
    spec: job,
  };
}
