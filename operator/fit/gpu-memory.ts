/** Memory of the GPUs that a deployment requests. Pure. */
import type { V1Affinity } from '@kubernetes/client-node';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { decideAccelerators } from '../resources/accelerators.ts';
import { GIBIBYTE } from './memory-need.ts';

/** A node with GPUs: its labels, which pods select by. */
export type GPUNode = Readonly<Record<string, string>>;

/** The labels that the vendors' own discovery sets; of NVIDIA in MiB. */
export const GPU_MEMORY_LABELS = { nvidia: 'nvidia.com/gpu.memory', amd: 'amd.com/gpu.vram' } as const;

export interface GPUMemory {
  /** Bytes of one GPU: minimum and maximum of those that the pods may get. */
  least: number;
  most: number;
}

/** For a slice named `10gb`, this fraction of a GiB per GB. */
const SLICE_GIB = 0.95;

/** Undefined if unknown. `nodes`: undefined if they may not be read. */
export function findGPUMemory(
  spec: ModelDeploymentSpec,
  nodes: readonly GPUNode[] | undefined,
): GPUMemory | undefined {
  if (spec.gpu?.memory) return same(parseQuantity(spec.gpu.memory));
  const { resourceName } = decideAccelerators(spec);
  const [, slice] = /\/mig-.*\.(\d+)gb/.exec(resourceName) ?? [];
  if (slice) return same(Number(slice) * SLICE_GIB * GIBIBYTE);
  // Nodes are filtered by labels only, and have no memory labels of other vendors.
  if (!/^(nvidia|amd)\.com\//.test(resourceName) || isAffine(spec)) return undefined;
  const wanted = Object.entries(spec.template.nodeSelector ?? {});
  const sizes = (nodes ?? [])
    .filter((labels) => wanted.every(([name, value]) => labels[name] === value))
    .map((labels) => readMemory(labels, resourceName))
    .filter((bytes) => bytes > 0);
  if (sizes.length === 0) return undefined;
  return { least: Math.min(...sizes), most: Math.max(...sizes) };
}

const isAffine = ({ template }: ModelDeploymentSpec): boolean => {
  const { nodeAffinity } = (template.affinity ?? {}) as V1Affinity;
  return nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
};

const same = (bytes: number): GPUMemory => ({ least: bytes, most: bytes });

/** 0 if the labels do not show it. */
function readMemory(labels: GPUNode, resourceName: string): number {
  if (resourceName.startsWith('amd.com/')) return parseQuantity(`${labels[GPU_MEMORY_LABELS.amd]}i`) || 0;
  return parseQuantity(`${labels[GPU_MEMORY_LABELS.nvidia]}Mi`) || 0;
}
