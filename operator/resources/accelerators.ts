/** The GPUs of a replica and what they add to the pod. */
import type { V1Toleration, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { addQuantities, parseQuantity } from '../../api/quantity.ts';
import type { ImageVendor } from '../engines/engine.ts';
import { PRESETS } from '../engines/presets.ts';

/** Prefixes of resources that need special images, which no preset has. */
const OTHER_VENDORS = [
  'gpu.intel.com',
  'habana.ai',
  'google.com',
  'aws.amazon.com',
  'huawei.com',
  'cambricon.com',
  'mthreads.com',
  'metax-tech.com',
  'tenstorrent.com',
  'qualcomm.com',
];

/** Undefined: accelerators without an image in any preset. Schedulers of shared NVIDIA GPUs have their own prefixes. */
export function vendorOf(spec: ModelDeploymentSpec): ImageVendor | undefined {
  const { count, resourceName } = decideAccelerators(spec);
  // What a claim provides is unknown here: most provide NVIDIA's, and engine.image overrides that.
  if (count === 0) return spec.template.resourceClaims?.length ? 'nvidia' : 'none';
  const domain = spec.gpu?.deviceClass ?? resourceName.split('/')[0]!;
  const isOf = (vendor: string) => domain === vendor || domain.endsWith(`.${vendor}`);
  if (OTHER_VENDORS.some(isOf)) return undefined;
  return isOf('amd.com') ? 'amd' : 'nvidia';
}

/** A slice of a GPU has no connection to others: a model cannot be split over several. */
export const isSlice = (resourceName: string): boolean => /^nvidia\.com\/mig-/.test(resourceName);

export interface Accelerators {
  count: number;
  /** Empty for none, and where they are claimed. */
  resourceName: string;
}

export function decideAccelerators({ gpu, engine }: ModelDeploymentSpec): Accelerators {
  const count = gpu?.count ?? PRESETS[engine.preset].gpus;
  const isRequested = count > 0 && gpu?.deviceClass === undefined;
  return { count, resourceName: isRequested ? (gpu?.resourceName ?? 'nvidia.com/gpu') : '' };
}

export const gpuLimits = ({ count, resourceName }: Accelerators): Record<string, string> =>
  resourceName === '' ? {} : { [resourceName]: String(count) };

const claimedDomain = (spec: ModelDeploymentSpec): string | undefined => {
  const vendor = vendorOf(spec);
  return vendor && `${vendor}.com`;
};

/** GPU nodes are commonly tainted with the vendor's `…/gpu`, also for MIG slices and where GPUs are claimed. */
export function gpuTolerations(spec: ModelDeploymentSpec): V1Toleration[] {
  const { count, resourceName } = decideAccelerators(spec);
  const domain = resourceName === '' ? claimedDomain(spec) : resourceName.split('/')[0];
  if (count === 0 || domain === undefined) return [];
  return [{ key: `${domain}/gpu`, operator: 'Exists', effect: 'NoSchedule' }];
}

const SHARED_MEMORY = 'shared-memory';
const MEBIBYTE = 1024 ** 2;

export interface PodVolumes {
  volumes: V1Volume[];
  mounts: V1VolumeMount[];
}

/** Only the used part counts as the pod's memory. */
const SHARED_MEMORY_OF_ONE = '2Gi';

/** /dev/shm has 64 MiB by default: too little between an engine's processes, and even more so between GPUs. */
export function sharedMemory(spec: ModelDeploymentSpec, { count }: Accelerators): PodVolumes {
  // A container has one mount per path: the spec's own takes precedence.
  if (spec.template.volumeMounts?.some(({ mountPath }) => /^\/dev\/shm\/*$/.test(String(mountPath))))
    return { volumes: [], mounts: [] };
  const own = spec.gpu?.sharedMemory ?? (count > 1 ? halfOfMemory(spec) : SHARED_MEMORY_OF_ONE);
  const { kvCache, preset } = spec.engine;
  // vLLM keeps its cache here, and does not start without room for all of it.
  const size = kvCache && preset === 'vllm' ? addQuantities(own, kvCache.cpu) : own;
  return {
    volumes: [{ name: SHARED_MEMORY, emptyDir: { medium: 'Memory', sizeLimit: size } }],
    mounts: [{ name: SHARED_MEMORY, mountPath: '/dev/shm' }],
  };
}

function halfOfMemory({ resources }: ModelDeploymentSpec): string {
  const bytes = parseQuantity(resources?.limits?.memory ?? '');
  return Number.isNaN(bytes) ? '8Gi' : `${Math.max(1, Math.floor(bytes / 2 / MEBIBYTE))}Mi`;
}
