/** An engine that takes no more calls. Its own queue is full: vLLM 0.32 with `--max-num-queued-reqs`, SGLang 0.5.23 with `--max-queued-requests`. */
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './errors.ts';
import { endFrames, formatFailure } from './sse.ts';

/** vllm/exceptions.py. */
const VLLM_FULL = new EngineError(
  503,
  'Service Unavailable',
  'The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.',
);
/** srt/managers/scheduler.py; a stream has begun by then (srt/entrypoints/openai/serving_base.py). */
const SGLANG_FULL = new EngineError(503, '503', 'The request queue is full.');
const SGLANG_FRAME = {
  error: {
    object: 'error',
    message: SGLANG_FULL.message,
    type: 'SERVICE_UNAVAILABLE',
    param: null,
    code: 503,
  },
};

/** vLLM 0.32 that drains, seen on its CPU build: its thread pool is closed. */
export const DRAINING = new EngineError(
  500,
  'InternalServerError',
  'cannot schedule new futures after shutdown',
);

export function isQueueFull({ slots, settings }: Engine): boolean {
  const { maxQueued, maxConcurrency } = settings.current;
  return maxQueued !== null && slots.running >= (maxConcurrency || Infinity) && slots.waiting >= maxQueued;
}

/** Throws the error that is the response, unless a stream has it as its first frame. */
export function refuseAsFull(engine: Engine, call: Call, { frames, isNamed }: Answer): void {
  if (engine.settings.current.like !== 'sglang') throw VLLM_FULL;
  if (!frames) throw SGLANG_FULL;
  endFrames(call, formatFailure(SGLANG_FRAME, SGLANG_FULL, isNamed ?? false));
}
