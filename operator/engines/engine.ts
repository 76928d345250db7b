/** The input and output of a preset; pure, so that a spec always gives the same container. */
import type { V1EnvVar } from '@kubernetes/client-node';
import type { ModelKind } from '../../api/engine-presets.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import type { EngineVersion } from './engine-version.ts';

/** Engines listen here only, so the gateway cannot be bypassed. */
export const ENGINE_HOST = '127.0.0.1';
/** The only host that engines may fetch media from: none, since `.invalid` never resolves. `data:` URLs still work. */
export const NO_MEDIA_HOST = 'none.invalid';
/** A writable folder of every engine: home, caches, outputs. */
export const ENGINE_HOME = '/home/berth';

/** Signals from an engine's command to the gateway, which mounts it read-only. */
export const ENGINE_NOTES = '/run/berth-engine';

/** Where the engine finds its model. */
export type ModelLocation =
  | { kind: 'repository'; repository: string; revision: string | undefined }
  | { kind: 'path'; path: string }
  | { kind: 'none' };

export interface EngineInput {
  spec: ModelDeploymentSpec;
  location: ModelLocation;
  servedModelName: string;
  version: EngineVersion;
  gpus: number;
  /** Longest wait for requests in flight when the pod terminates. */
  drainMs: number;
  /** The vendor of the preset's own image; undefined: another image, whose files are unknown. */
  imageOf?: ImageVendor | undefined;
}

export interface EngineCommand {
  /** Absent: the image's own. */
  command?: string[];
  args: string[];
  env: V1EnvVar[];
}

/** Whose accelerators an image supports; none: only CPUs. */
export type ImageVendor = 'nvidia' | 'amd' | 'none';

export interface EnginePresetDefinition {
  /** Pinned image; undefined if there is none, and the spec has to set one. */
  image: (vendor: ImageVendor, kind: ModelKind) => string | undefined;
  /** GPUs of a replica if the spec sets none. */
  gpus: number;
  /** The user that the engine runs as; undefined: the image's own, root included. */
  uid: number | undefined;
  readOnlyRootFilesystem?: boolean;
  /** CPU and memory requests if the spec sets none: enough to start, not to be fast. */
  requests: Record<string, string>;
  /** Path of its metrics on its port; undefined if it has none, or it is unknown. */
  metricsPath?: string;
  /** File that its command writes when the engine runs out of GPU memory, which its responses do not show. */
  memoryMark?: string;
  /** Whether it can run without a model source. */
  needsModel: boolean;
  run: (input: EngineInput) => EngineCommand;
  /** Why the engine does not support this spec. */
  refuse?: (input: EngineInput) => string | undefined;
}

/** One image for CUDA, which falls back to CPUs if it can, and one for ROCm. */
export const imagePair =
  (cuda: string, rocm: string) =>
  (vendor: ImageVendor): string =>
    vendor === 'amd' ? rocm : cuda;

/** The repository or path as engines accept it in one argument; nothing without a source. */
export function modelReference(location: ModelLocation): string[] {
  if (location.kind === 'none') return [];
  return [location.kind === 'repository' ? location.repository : location.path];
}

export const modelFlag = (flag: string, location: ModelLocation): string[] =>
  modelReference(location).map((reference) => `${flag}=${reference}`);

export const revisionFlag = (location: ModelLocation): string[] =>
  location.kind === 'repository' && location.revision ? [`--revision=${location.revision}`] : [];

export const variables = (values: Record<string, string>): V1EnvVar[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

/** Later lists win; names are unique, as server-side apply requires. */
export function mergeVariables(...lists: (readonly V1EnvVar[])[]): V1EnvVar[] {
  return [...new Map(lists.flat().map((variable) => [variable.name, variable])).values()];
}
