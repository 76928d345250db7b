/** The GPUs of a replica and what they bring into the pod. */
import type { V1Toleration, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ModelDeploymentSpec } from '../../contract/model-deployment.ts';
import { parseQuantity } from '../../contract/quantity.ts';
import { PRESETS } from '../engines/presets.ts';

export interface Accelerators {
  count: number;
  /** Empty for none. */
  resourceName: string;
}

export function decideAccelerators({ gpu, engine }: ModelDeploymentSpec): Accelerators {
  const count = gpu?.count ?? PRESETS[engine.preset].gpus;
  return { count, resourceName: count > 0 ? (gpu?.resourceName ?? 'nvidia.com/gpu') : '' };
}

export const gpuLimits = ({ count, resourceName }: Accelerators): Record<string, string> =>
  count > 0 ? { [resourceName]: String(count) } : {};

/** GPU nodes are commonly tainted with the vendor's `…/gpu`, also where MIG slices are asked for. */
export function gpuTolerations({ count, resourceName }: Accelerators): V1Toleration[] {
  if (count === 0) return [];
  return [{ key: `${resourceName.split('/')[0]}/gpu`, operator: 'Exists', effect: 'NoSchedule' }];
}

const SHARED_MEMORY = 'shared-memory';
const MEBIBYTE = 1024 ** 2;

export interface PodVolumes {
  volumes: V1Volume[];
  mounts: V1VolumeMount[];
}

/** /dev/shm has 64 MiB by default, too little for GPUs that exchange tensors through it. */
export function sharedMemory(spec: ModelDeploymentSpec, { count }: Accelerators): PodVolumes {
  const size = spec.gpu?.sharedMemory ?? (count > 1 ? halfOfMemory(spec) : undefined);
  if (size === undefined) return { volumes: [], mounts: [] };
  return {
    volumes: [{ name: SHARED_MEMORY, emptyDir: { medium: 'Memory', sizeLimit: size } }],
    mounts: [{ name: SHARED_MEMORY, mountPath: '/dev/shm' }],
  };
}

function halfOfMemory({ resources }: ModelDeploymentSpec): string {
  const bytes = parseQuantity(resources?.limits?.memory ?? '');
  return Number.isNaN(bytes) ? '8Gi' : `${Math.max(1, Math.floor(bytes / 2 / MEBIBYTE))}Mi`;
}
