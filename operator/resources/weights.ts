/** Provides the weights of each kind of source to the pod, and the claim that keeps downloads between pods. */
import type { V1Container, V1EnvVar, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ModelSource } from '../../api/model-source.ts';
import { childNames } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ENGINE_HOME, type ModelLocation } from '../engines/engine.ts';
import { childMetadata } from './metadata.ts';
import type { BuildSettings } from './settings.ts';
import { buildCachedWeights } from './weights-cache.ts';
import {
  buildImageCopy,
  buildS3Copy,
  type CopySettings as DownloadSettings,
  joinPath,
  MODELS_PATH,
  WEIGHTS_VOLUME,
} from './weights-copy.ts';

export interface Weights {
  location: ModelLocation;
  volumes: V1Volume[];
  /** Mounts of the engine container. */
  mounts: V1VolumeMount[];
  env: V1EnvVar[];
  initContainers: V1Container[];
}

const NOTHING: Weights = {
  location: { kind: 'none' },
  volumes: [],
  mounts: [],
  env: [],
  initContainers: [],
};

type WeightsSettings = DownloadSettings &
  Pick<BuildSettings, 'gatewayImage' | 'imagePullPolicy' | 'imagePullSecrets'>;

export function buildWeights(model: ModelDeployment, settings: WeightsSettings): Weights {
  const { metadata, spec } = model;
  const { huggingFace, s3, pvc, image, cache } = spec.model.source;
  if (cache) {
    const { path, ...cached } = buildCachedWeights(model, settings);
    return { ...cached, location: { kind: 'path', path } };
  }
  if (huggingFace) return buildHuggingFace(huggingFace, metadata.name, settings);
  if (s3)
    return {
      ...NOTHING,
      ...localCopy(s3.size),
      location: at(s3File(s3.uri)),
      initContainers: [buildS3Copy(s3, settings)],
    };
  if (pvc)
    return {
      ...NOTHING,
      location: at(pvc.path),
      // Also read-only as a volume, or the kubelet would change the owner of its content.
      volumes: [
        { name: WEIGHTS_VOLUME, persistentVolumeClaim: { claimName: pvc.claimName, readOnly: true } },
      ],
      mounts: [readOnlyMount],
    };
  if (image?.mode === 'Copy')
    return {
      ...NOTHING,
      ...localCopy(undefined),
      location: at(image.path.endsWith('.gguf') ? baseName(image.path) : ''),
      initContainers: [buildImageCopy(image, settings.platform)],
    };
  if (image)
    return {
      ...NOTHING,
      location: at(image.path),
      volumes: [
        { name: WEIGHTS_VOLUME, image: { reference: image.reference, pullPolicy: image.pullPolicy } },
      ],
      mounts: [readOnlyMount],
    };
  return NOTHING;
}

const readOnlyMount: V1VolumeMount = { name: WEIGHTS_VOLUME, mountPath: MODELS_PATH, readOnly: true };

const at = (path: string): ModelLocation => ({ kind: 'path', path: joinPath(MODELS_PATH, path) });

const localCopy = (size: string | undefined) => ({
  volumes: [{ name: WEIGHTS_VOLUME, emptyDir: size ? { sizeLimit: size } : {} }],
  mounts: [readOnlyMount],
});

const baseName = (path: string): string => path.split('/').at(-1) ?? '';
const s3File = (uri: string): string => (uri.endsWith('.gguf') ? baseName(uri) : '');

const CACHE_PATH = '/var/cache/huggingface';

/** The engine downloads by itself, into the claim if there is one; the hub's client locks, and renames when done. */
function buildHuggingFace(
  source: NonNullable<ModelSource['huggingFace']>,
  name: string,
  { downloadEnv }: DownloadSettings,
): Weights {
  const { repo, revision, tokenSecret, cache } = source;
  const claimName = cache && (cache.claimName ?? childNames(name).cacheClaim);
  const home = claimName ? CACHE_PATH : `${ENGINE_HOME}/.cache/huggingface`;
  return {
    ...NOTHING,
    location: { kind: 'repository', repository: repo, revision },
    volumes: claimName ? [{ name: WEIGHTS_VOLUME, persistentVolumeClaim: { claimName } }] : [],
    mounts: claimName ? [{ name: WEIGHTS_VOLUME, mountPath: CACHE_PATH }] : [],
    env: [
      { name: 'HF_HOME', value: home },
      // Text Embeddings Inference and llama.cpp have their own names for the same folder.
      { name: 'HUGGINGFACE_HUB_CACHE', value: `${home}/hub` },
      { name: 'LLAMA_CACHE', value: `${home}/llama.cpp` },
      ...(tokenSecret
        ? [
            {
              name: 'HF_TOKEN',
              valueFrom: { secretKeyRef: { name: tokenSecret.name, key: tokenSecret.key } },
            },
          ]
        : []),
      ...downloadEnv,
    ],
  };
}

/** The claim that keeps downloads between pods, if the spec requests its own. */
export function buildWeightsClaim(model: ModelDeployment): KubeObject | undefined {
  const cache = model.spec.model.source.huggingFace?.cache;
  if (!cache?.size) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: childMetadata(model, childNames(model.metadata.name).cacheClaim),
    spec: {
      accessModes: [cache.accessMode],
      ...(cache.storageClassName ? { storageClassName: cache.storageClassName } : {}),
      resources: { requests: { storage: cache.size } },
    },
  };
}
