/** KV cache beyond the GPU's memory (`engine.kvCache`): an engine's flags for it, or why it has none. Pure. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { type EngineInput, variables } from './engine.ts';
import { isSince } from './engine-version.ts';

/** Where an engine keeps what memory does not hold: a volume of the pod's own. */
export const KV_CACHE_PATH = '/var/cache/berth-kv';

const GIBIBYTE = 1024 ** 3;
const GIGABYTE = 1e9;
/** Share of the volume: the kubelet evicts a pod whose files exceed it, blocks that are not full included. */
export const FILLED = 0.9;
/** SGLang writes a file for each page, and by default a page for each token. */
const PAGE_TOKENS = 64;

type Cached = NonNullable<ModelDeploymentSpec['engine']['kvCache']>;

/** vLLM divides it among the GPUs itself. */
export function listVLLMCacheFlags({ engine: { kvCache } }: ModelDeploymentSpec): string[] {
  if (!kvCache) return [];
  const gibibytes = Number((parseQuantity(kvCache.cpu) / GIBIBYTE).toFixed(3));
  return [`--kv-offloading-size=${gibibytes}`, '--kv-offloading-backend=native'];
}

/** SGLang's sizes are of each GPU's process, in whole gigabytes. */
export function listSGLangCacheFlags({ spec: { engine }, gpus }: EngineInput): string[] {
  const { kvCache } = engine;
  if (!kvCache) return [];
  return [
    '--enable-hierarchical-cache',
    `--hicache-size=${countGigabytes(kvCache, gpus)}`,
    ...(kvCache.disk ? ['--hicache-storage-backend=file', `--page-size=${PAGE_TOKENS}`] : []),
  ];
}

export const listSGLangCacheVariables = ({ spec: { engine }, gpus }: EngineInput) =>
  engine.kvCache?.disk
    ? variables({
        SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR: KV_CACHE_PATH,
        SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE: String(
          Math.floor((parseQuantity(engine.kvCache.disk) * FILLED) / gpus),
        ),
      })
    : [];

const countGigabytes = ({ cpu }: Cached, gpus: number): number =>
  Math.floor(parseQuantity(cpu) / GIGABYTE / Math.max(1, gpus));

/** Why the engine cannot have it. */
export function refuseKVCache({ spec, version, gpus }: EngineInput): string | undefined {
  const { kvCache, preset } = spec.engine;
  if (!kvCache) return undefined;
  if (preset !== 'vllm' && preset !== 'sglang')
    return `spec.engine.kvCache: only vllm and sglang keep it beyond the GPU, not ${preset}: omit it`;
  if (spec.kind !== 'LLM') return `spec.engine.kvCache: models of kind ${spec.kind} have none: omit it`;
  if (gpus === 0) {
    if (!spec.template.resourceClaims?.length)
      return 'spec.engine.kvCache needs a GPU: without one, the cache is in memory already';
    if (preset === 'sglang')
      return 'spec.engine.kvCache: sglang divides it among its GPUs, whose number template.resourceClaims does not tell: omit it, or use preset vllm';
  }
  return preset === 'vllm' ? refuseOfVLLM(kvCache, version) : refuseOfSGLang(kvCache, gpus);
}

function refuseOfVLLM({ disk }: Cached, version: EngineInput['version']) {
  if (disk)
    return 'spec.engine.kvCache.disk: vllm never removes what it has written, until the disk is full: omit it, or use preset sglang';
  if (!isSince(version, '0.30'))
    return `spec.engine.kvCache: vllm ${version} does not start again after it was killed, since its cache stays in /dev/shm: use 0.30 or later`;
  return undefined;
}

function refuseOfSGLang(kvCache: Cached, gpus: number) {
  if (countGigabytes(kvCache, gpus) >= 1) return undefined;
  return `spec.engine.kvCache.cpu ${kvCache.cpu} is less than 1 GB for each of ${gpus} GPUs: set more`;
}
