/** Resources of the engine's container: its preset's and the spec's, and what the KV cache beyond the GPU takes. Pure. */
import { claimsGPUs } from '../../api/engine-traits.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { addQuantities } from '../../api/quantity.ts';
import { KV_CACHE_PATH } from '../engines/kv-cache.ts';
import { PRESETS } from '../engines/presets.ts';
import { type Accelerators, gpuLimits, type PodVolumes } from './accelerators.ts';
import { GPU_CLAIM } from './device-claims.ts';

type Amounts = Readonly<Record<string, string>>;

export function buildResources(
  { resources, template, engine, gpu }: ModelDeploymentSpec,
  accelerators: Accelerators,
) {
  const limits = addSpare(addCache({ ...resources?.limits, ...gpuLimits(accelerators) }, engine), engine);
  const usual = { ...PRESETS[engine.preset].requests, ...(engine.kvCache?.disk && { [DISK]: '0' }) };
  const requests = addCache({ ...decideRequests(usual, limits), ...resources?.requests }, engine);
  const own = claimsGPUs({ gpu }) ? [{ name: GPU_CLAIM }] : [];
  const claims = [...own, ...(template.resourceClaims ?? []).map(({ name }) => ({ name: String(name) }))];
  return {
    ...(Object.keys(requests).length > 0 ? { requests } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(claims.length > 0 ? { claims } : {}),
  };
}

/** If there is a limit, Kubernetes uses it as the request. */
const decideRequests = (requests: Amounts, limits: Amounts): Amounts =>
  Object.fromEntries(Object.entries(requests).filter(([name]) => limits[name] === undefined));

const DISK = 'ephemeral-storage';

/** To the amounts that are set, since none is no bound. */
function addCache(amounts: Amounts, { kvCache }: ModelDeploymentSpec['engine']): Amounts {
  if (!kvCache) return amounts;
  const { memory, [DISK]: disk } = amounts;
  return {
    ...amounts,
    ...(memory && { memory: addQuantities(memory, kvCache.cpu) }),
    ...(disk && kvCache.disk && { [DISK]: addQuantities(disk, kvCache.disk) }),
  };
}

/** SGLang does not start unless so much remains of the limit beside its cache. */
const SGLANG_SPARE = '10Gi';

const addSpare = (limits: Amounts, { kvCache, preset }: ModelDeploymentSpec['engine']): Amounts =>
  kvCache && preset === 'sglang' && limits.memory
    ? { ...limits, memory: addQuantities(limits.memory, SGLANG_SPARE) }
    : limits;

export const KV_CACHE_VOLUME = 'kv-cache';

/** The volume of the KV cache on disk: the pod's own, so that no other deployment or workspace reads it. */
export function kvCacheVolume({ engine }: ModelDeploymentSpec): PodVolumes {
  const disk = engine.kvCache?.disk;
  if (!disk) return { volumes: [], mounts: [] };
  const name = KV_CACHE_VOLUME;
  return {
    volumes: [{ name, emptyDir: { sizeLimit: disk } }],
    mounts: [{ name, mountPath: KV_CACHE_PATH }],
  };
}
