/** GPU memory that a language model needs, and what would fit. Pure. */
import type { ModelShape } from '../../api/internal-api.ts';

export const GIBIBYTE = 1024 ** 3;

/** Overhead per GPU beside weights and KV cache: CUDA's context and graphs, activations, buffers. */
export const OVERHEAD_BYTES = 1.5 * GIBIBYTE;

export interface Demand {
  shape: ModelShape;
  weightBytes: number;
  /** Size of an element of the KV cache. */
  cacheBytes: number;
  /** Tokens of a request. */
  context: number;
  /** Concurrent requests, each with a full context. */
  requests: number;
  tensorParallel: number;
  pipelineParallel: number;
}

export interface Need {
  /** Bytes of each GPU. */
  weights: number;
  cache: number;
  overhead: number;
}

type Split = Pick<Demand, 'tensorParallel' | 'pipelineParallel'>;

/** KV cache of one request on each GPU. Heads are split, and replicated if there are more GPUs than heads. */
export function cacheOfRequest(
  { shape, cacheBytes, tensorParallel, pipelineParallel }: Pick<Demand, 'shape' | 'cacheBytes'> & Split,
  context: number,
): number {
  const { latentElements, headElements, keyValueHeads, fullLayers, windowLayers, window } = shape;
  const elements = latentElements ?? headElements * Math.max(1, Math.ceil(keyValueHeads / tensorParallel));
  const tokens = fullLayers * context + windowLayers * Math.min(window, context);
  return (elements * cacheBytes * tokens) / pipelineParallel;
}

export function findNeed(demand: Demand): Need {
  const { weightBytes, context, requests, tensorParallel, pipelineParallel } = demand;
  return {
    weights: weightBytes / (tensorParallel * pipelineParallel),
    cache: requests * cacheOfRequest(demand, context),
    overhead: OVERHEAD_BYTES,
  };
}

export const sumNeed = ({ weights, cache, overhead }: Need): number => weights + cache + overhead;

const CONTEXT_STEP = 1_024;

/** The longest context for which all requests fit into `budget` bytes of a GPU; 0: none. */
export function findMaxContext(demand: Demand, budget: number): number {
  const fits = (context: number) => sumNeed(findNeed({ ...demand, context })) <= budget;
  let [low, high] = [0, Math.floor(demand.context / CONTEXT_STEP)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle * CONTEXT_STEP)) low = middle;
    else high = middle - 1;
  }
  return low * CONTEXT_STEP;
}

/** How many concurrent requests with a full context fit into `budget` bytes of a GPU. */
export function countRequests(demand: Demand, budget: number): number {
  const { weights, overhead } = findNeed(demand);
  return Math.max(0, Math.floor((budget - weights - overhead) / cacheOfRequest(demand, demand.context)));
}

const SPLITS = [2, 4, 8, 16];

/** The smallest larger number of GPUs over which it fits with tensor parallelism; undefined: no common number. */
export const findTensorParallel = (demand: Demand, budget: number): number | undefined =>
  SPLITS.find(
    (tensorParallel) =>
      tensorParallel > demand.tensorParallel &&
      demand.shape.attentionHeads % tensorParallel === 0 &&
      sumNeed(findNeed({ ...demand, tensorParallel })) <= budget,
  );
