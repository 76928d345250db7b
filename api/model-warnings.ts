/** Warnings for `kubectl apply`, from the object alone: also written in CEL, in charts/berth/templates/model-warnings-policy.yaml (decision 0221). Pure. */
import { canSleep } from './engine-traits.ts';
import type { ModelDeploymentSpec } from './model-deployment.ts';
import { hasNoPrefixCache } from './model-route.ts';
import { parseDuration } from './quantity.ts';

const GIBIBYTE = 1024 ** 3;
/** The largest GPU of most clusters; `spec.gpu.memory` overrides it. */
const USUAL_GIB = 80;
const SLICE_GIB = 0.95;
const UTILIZATION = 0.9;
/** undici's `headersTimeout`: the fetch of Node gives up without the head of a response, whatever an SDK's own timeout is. */
const NODE_TIMEOUT_MS = 300_000;

/** What can be known without reading the model itself; the condition `Fits` says the rest. ASCII, for a header. */
export function findModelWarnings(spec: ModelDeploymentSpec): string[] {
  if (spec.adapterOf) return [];
  const isSleepless = spec.scaling?.idle === 'Sleep' && !canSleep(spec);
  return [
    ...warnOfUncached(spec),
    ...findEngineWarnings(spec),
    ...(isSleepless ? [NO_SLEEP] : []),
    ...warnOfSilence(spec),
  ];
}

/** Asynchronous images and videos are acknowledged at once: their timeouts keep no client waiting. */
function warnOfSilence({ kind, limits, scaling }: ModelDeploymentSpec): string[] {
  const { mode, holdFor } = scaling?.coldStart ?? {};
  const isQueued = kind === 'Image' || kind === 'Video';
  const waits = {
    'spec.limits.requestTimeout': isQueued ? '0s' : limits.requestTimeout,
    'spec.limits.imageTimeout': kind === 'Image' ? limits.imageTimeout : '0s',
    'spec.scaling.coldStart.holdFor': !isQueued && mode === 'Hold' ? holdFor! : '0s',
  };
  const fields = Object.entries(waits).filter(([, wait]) => parseDuration(wait) > NODE_TIMEOUT_MS);
  return fields.length > 0 ? [`${fields.map(([field]) => field).join(', ')}: ${SILENT}`] : [];
}

const SILENT =
  'SDKs for Node give up after 300 s without a response, whatever their timeout is, and repeat the request; clients need streams, async=true of images, or a fetch with a longer headersTimeout';

const NO_SLEEP =
  'spec.scaling.idle: only vllm with GPUs can sleep, not this engine; its last replica is removed instead';

function findEngineWarnings({ kind, engine, gpu, model, resilience }: ModelDeploymentSpec): string[] {
  const count = gpu?.count ?? 1;
  if (engine.preset === 'custom') return resilience.continueStreams ? [UNKNOWN_CONTINUATION] : [];
  if ((engine.preset !== 'vllm' && engine.preset !== 'sglang') || count === 0) return [];
  return [...warnOfSplit(engine.args, count), ...warnOfSize({ kind, engine, gpu, model }, count)];
}

const UNKNOWN_CONTINUATION =
  'spec.resilience.continueStreams: needs an engine that knows continue_final_message; one that ignores it starts over in the middle of a response';

const warnOfUncached = ({ engine, route }: Pick<ModelDeploymentSpec, 'engine' | 'route'>): string[] =>
  route.balance === 'Prefix' && hasNoPrefixCache(engine) ? [UNCACHED] : [];

const UNCACHED =
  'spec.route.balance: Prefix has no effect while spec.engine.args turn off the prefix cache of the engine';

function warnOfSplit(args: readonly string[], count: number): string[] {
  const split = args.filter((arg) => /^--(tensor[-_]parallel|tp)[-_]size=[0-9]{1,4}$/.test(arg)).at(-1);
  if (!split || Number(/[0-9]+$/.exec(split)![0]) <= count) return [];
  return [`spec.engine.args: ${split} needs more GPUs than the ${count} of spec.gpu.count`];
}

type Sized = Pick<ModelDeploymentSpec, 'kind' | 'engine' | 'gpu' | 'model'>;

function warnOfSize({ engine, gpu, model }: Sized, count: number): string[] {
  const name = nameOf(model).toLowerCase();
  const bytes = bytesOfParameter(name);
  const [size] = /(^|[-_/])[0-9]{1,4}([.][0-9]{1,3})?b($|[-_.:/])/.exec(name) ?? [];
  if (
    !size ||
    bytes === 0 ||
    engine.args.some((arg) => /^--(quantization|load[-_]format|cpu[-_]offload)/.test(arg))
  )
    return [];
  const billions = Number(/[0-9]+([.][0-9]+)?/.exec(size)![0]);
  const weights = (billions * bytes * 1e9) / GIBIBYTE;
  const { gib, isKnown } = findMemory(gpu);
  if (weights <= gib * count * UTILIZATION) return [];
  const remedy = isKnown ? '' : '; set spec.gpu.memory if the GPUs are larger';
  return [
    `spec.gpu: by the name of ${name.replaceAll(/[^\x20-\x7e]/g, '?')} its weights take about ${Math.trunc(weights)} GiB, more than ${count} x ${Math.trunc(gib)} GiB of GPU memory${remedy}`,
  ];
}

/** An id may be any name that clients use: used only if there is no other hint. */
function nameOf({ id, source: { huggingFace, s3, pvc, image } }: ModelDeploymentSpec['model']): string {
  const path = s3?.uri ?? pvc?.path ?? (image && (image.path || image.reference));
  return huggingFace?.repo ?? path ?? id;
}

/** 0: not in the name. */
function bytesOfParameter(name: string): number {
  if (name.includes('gguf')) return 0;
  if (/awq|gptq|int4|4bit|w4a16|fp4|bnb|gpt-oss|autoround|exl[23]|bpw|hqq|-q[2-8]/.test(name)) return 0.55;
  return /fp8|int8|8bit|w8a8/.test(name) ? 1 : 2;
}

function findMemory(gpu: ModelDeploymentSpec['gpu']): { gib: number; isKnown: boolean } {
  if (gpu?.memory) return { gib: Number(gpu.memory.replace('Gi', '')), isKnown: true };
  const [slice] = /[0-9]+gb/.exec(gpu?.resourceName ?? '') ?? [];
  if (slice) return { gib: Number(slice.replace('gb', '')) * SLICE_GIB, isKnown: true };
  return { gib: USUAL_GIB, isKnown: false };
}
