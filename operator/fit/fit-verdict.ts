/** Whether a model fits into the memory of its requested GPUs. Pure. */
import type { ModelShape } from '../../api/internal-api.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { FILLED } from '../engines/kv-cache.ts';
import { decideAccelerators } from '../resources/accelerators.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';
import { findUnknownFlag, readEngineDemand } from './engine-demand.ts';
import type { GPUMemory } from './gpu-memory.ts';
import {
  cacheOfRequest,
  countRequests,
  type Demand,
  findMaxContext,
  findNeed,
  findTensorParallel,
  GIBIBYTE,
  sumNeed,
} from './memory-need.ts';

/** The model's memory use, or why it is unknown. */
export type ModelSize =
  | { shape: ModelShape | null; weightBytes: number }
  | { reason: string; message: string };

/** Engines that hold one language model in GPU memory; others are not estimated. */
export function isEstimated(spec: ModelDeploymentSpec): spec is ModelDeploymentSpec & {
  engine: { preset: 'vllm' | 'sglang' };
} {
  const { preset } = spec.engine;
  return (preset === 'vllm' || preset === 'sglang') && decideAccelerators(spec).count > 0;
}

/** Undefined if there is no verdict. `memory`: undefined if unknown. */
export function evaluateFit(
  spec: ModelDeploymentSpec,
  size: ModelSize,
  memory: GPUMemory | undefined,
): Verdict | undefined {
  if (!isEstimated(spec)) return undefined;
  if ('reason' in size) return verdict('Unknown', size.reason, size.message);
  const flag = findUnknownFlag(spec.engine.args);
  if (flag)
    return verdict(
      'Unknown',
      'NotEstimated',
      `with ${flag} the memory that the model needs cannot be estimated from its files`,
    );
  const asked = readEngineDemand(spec.engine.preset, spec, decideAccelerators(spec).count);
  const lack = describeLack(spec, asked);
  if (lack) return verdict('False', 'TooFewGPUs', lack);
  const demand = describeDemand(spec, size, asked);
  if (typeof demand === 'string') return verdict('Unknown', 'NotEstimated', demand);
  if (!memory)
    return verdict(
      'Unknown',
      'GPUMemoryUnknown',
      `${describeNeed(demand)}; the memory of the GPUs is not known: set spec.gpu.memory`,
    );
  const budgetOf = (bytes: number) => bytes * asked.utilization;
  const onLeast = compare(demand, budgetOf(memory.least), asked.context === 'auto');
  if (onLeast.status === 'True') {
    const { status, reason, message } = describe(onLeast, memory.least, asked);
    const isAuto = asked.context === 'auto';
    const one = { ...demand, requests: Math.min(1, demand.requests) };
    const context = isAuto ? findMaxContext(one, budgetOf(memory.least)) : demand.context;
    return verdict(status, reason, message + describeKept(spec, { ...demand, context }));
  }
  if (memory.least === memory.most) return describe(onLeast, memory.least, asked);
  const onMost = compare(demand, budgetOf(memory.most), asked.context === 'auto');
  if (onMost.status === 'False') return describe(onMost, memory.most, asked);
  const { message } = describe(onLeast, memory.least, asked);
  return verdict(
    'False',
    'SmallerGPUs',
    `fits GPUs of ${gib(memory.most)}, but those of ${gib(memory.least)} may be chosen, too: set spec.template.nodeSelector; there, ${message}`,
  );
}

/** Description; undefined if the engine has as many GPUs as its arguments split the model over, or they are not counted. */
function describeLack(
  spec: ModelDeploymentSpec,
  { tensorParallel, pipelineParallel }: ReturnType<typeof readEngineDemand>,
): string | undefined {
  const { count } = decideAccelerators(spec);
  if (tensorParallel * pipelineParallel <= count || spec.template.resourceClaims?.length) return undefined;
  return `${tensorParallel} tensor-parallel × ${pipelineParallel} pipeline-parallel shards need more GPUs than the ${count} of spec.gpu.count`;
}

/** Description of why it is unknown. */
function describeDemand(
  { kind, concurrency }: ModelDeploymentSpec,
  { shape, weightBytes }: { shape: ModelShape | null; weightBytes: number },
  asked: ReturnType<typeof readEngineDemand>,
): Demand | string {
  const { tensorParallel, pipelineParallel } = asked;
  if (!shape) return 'config.json does not say what the size of the KV cache depends on';
  const context = typeof asked.context === 'number' ? asked.context : shape.maxContext;
  if (!context) return 'config.json does not say how long its context is: set it in spec.engine.args';
  // Embedding and reranking models have no KV cache.
  const requests = kind === 'LLM' ? (concurrency ?? 1) : 0;
  const elementBytes = asked.isFloat32 ? 4 : 2;
  const cacheBytes = asked.cacheBytes ?? (shape.cacheBytes === 1 ? 1 : elementBytes);
  const loadedBytes = weightBytes * (shape.weightElementBytes ? elementBytes / shape.weightElementBytes : 1);
  return { shape, weightBytes: loadedBytes, cacheBytes, context, requests, tensorParallel, pipelineParallel };
}

/** Without the numbers of the GPU. */
function compare(demand: Demand, budget: number, isAuto: boolean): Verdict {
  const one = { ...demand, requests: Math.min(1, demand.requests) };
  const fitting = findMaxContext(one, budget);
  if (isAuto && fitting > 0)
    return verdict(
      'True',
      'Fits',
      `${describeNeed({ ...one, context: fitting })}, the longest context that fits`,
    );
  if (sumNeed(findNeed(demand)) <= budget)
    return verdict('True', 'Fits', describeNeed(demand) + describeHeadroom(demand, budget));
  const remedies = listRemedies(demand, budget).join(', or ');
  const message = `${describeNeed(demand)}${remedies && `; ${remedies}`}`;
  if (sumNeed(findNeed({ ...demand, requests: 0 })) > budget)
    return verdict('False', 'WeightsTooLarge', message);
  if (sumNeed(findNeed(one)) > budget) return verdict('False', 'ContextTooLong', message);
  return verdict('False', 'ConcurrencyTooHigh', `${message}; the engine starts, but requests will be queued`);
}

function describeHeadroom(demand: Demand, budget: number): string {
  if (demand.requests === 0) return '';
  const requests = countRequests(demand, budget);
  return `; room for ${requests} such ${requests === 1 ? 'request' : 'requests'}`;
}

/** What the cache beyond the GPU holds, of requests that have ended. */
function describeKept({ engine: { kvCache } }: ModelDeploymentSpec, demand: Demand): string {
  if (!kvCache || demand.requests === 0) return '';
  const { tensorParallel, pipelineParallel } = demand;
  const each = cacheOfRequest(demand, demand.context) * tensorParallel * pipelineParallel;
  const count = (size: string, share = 1) => Math.floor((parseQuantity(size) * share) / each);
  const { cpu, disk } = kvCache;
  const counts = [`${count(cpu)} in memory`, ...(disk ? [`${count(disk, FILLED)} on disk`] : [])];
  return `; kvCache keeps ${counts.join(' and ')} when they have ended`;
}

function listRemedies(demand: Demand, budget: number): string[] {
  const context = demand.requests > 0 ? findMaxContext(demand, budget) : 0;
  const requests = demand.requests > 1 ? countRequests(demand, budget) : 0;
  const split = findTensorParallel(demand, budget);
  return [
    ...(context > 0 ? [`a context of ${context} would fit`] : []),
    ...(requests > 0 ? [`a concurrency of ${requests}`] : []),
    ...(split ? [`${split * demand.pipelineParallel} GPUs`] : []),
  ];
}

const describeNeed = (demand: Demand): string => {
  const { weights, cache, overhead } = findNeed(demand);
  const parts = [
    `weights ${gib(weights)}`,
    ...(demand.requests > 0
      ? [`KV cache ${gib(cache)} for ${demand.requests} × ${demand.context} tokens`]
      : []),
    `overhead ${gib(overhead)}`,
  ];
  return parts.join(' + ');
};

/** The verdict with what it was compared with. */
function describe(
  { status, reason, message }: Verdict,
  bytes: number,
  { utilization, tensorParallel, pipelineParallel }: ReturnType<typeof readEngineDemand>,
): Verdict {
  const [need, ...rest] = message.split('; ');
  const gpus = tensorParallel * pipelineParallel > 1 ? ' of each GPU' : '';
  const relation = status === 'True' ? 'fit into' : 'exceed';
  return verdict(
    status,
    reason,
    [`${need} ${relation} ${gib(bytes)} × ${utilization}${gpus}`, ...rest].join('; '),
  );
}

const gib = (bytes: number): string => `${(bytes / GIBIBYTE).toFixed(1)} GiB`;
