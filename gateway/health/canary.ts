/**
 * The smallest request that an engine can serve. It distinguishes a broken engine from one that returns 500
 * for invalid requests that it does not recognize as such.
 */
import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { readBodyStart } from '../../kit/bounded-body.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import { buildGenerationBody } from '../engine/image-body.ts';
import { dialectOf } from '../engine/rerank-dialects.ts';
import { type EngineBody, requestEngine } from '../upstream/engine-request.ts';
import { isExcused } from './watched-dispatcher.ts';

/** `busy`: worth a retry. `unknown`: no suitable request exists. */
export type CanaryResult = 'good' | 'fault' | 'busy' | 'unknown';

interface Canary {
  path: string;
  body: EngineBody;
}

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 2_048;
const BUSY_STATUSES = new Set([429, 503]);

export interface CanaryOptions {
  pool: Dispatcher;
  config: GatewayConfig;
  /** It takes a slot like any other work: exceeding the engine's concurrency would prove nothing. */
  slots: Slots;
  timeoutMs?: number;
}

/** Never throws. */
export async function tryEngine(options: CanaryOptions): Promise<CanaryResult> {
  const canaries = listCanaries(options.config);
  if (canaries.length === 0) return 'unknown';
  const release = options.slots.hold();
  if (!release) return 'busy';
  try {
    let isRejected = false;
    for (const canary of canaries) {
      const result = await ask(canary, options);
      if (result !== 'unknown' && result !== 'rejected') return result;
      isRejected ||= result === 'rejected';
    }
    return isRejected ? 'fault' : 'unknown';
  } finally {
    release();
  }
}

/**
 * A base model has no chat template, and a parser or template that fails each chat does not mean a broken engine: no restart
 * would fix it. No video or audio request is small enough.
 */
function listCanaries({ kind, servedModelName: model, image, enginePreset }: GatewayConfig): Canary[] {
  switch (kind) {
    case 'LLM':
      return [
        encode('/v1/chat/completions', {
          model,
          messages: [{ role: 'user', content: 'a' }],
          max_tokens: 1,
        }),
        encode('/v1/completions', { model, prompt: 'a', max_tokens: 1 }),
      ];
    case 'Embedding':
      return [encode('/v1/embeddings', { model, input: 'a' })];
    case 'Rerank': {
      const { path, ask } = dialectOf(enginePreset);
      return [encode(path, { model, ...ask({ query: 'a', texts: ['a'], topN: 1 }) })];
    }
    case 'Image': {
      const size = image?.sizes.toSorted((a, b) => countPixels(a) - countPixels(b))[0];
      if (!size || !image?.tasks.includes('txt2img')) return [];
      return [buildGenerationBody(model, { task: 'txt2img', prompt: 'a', n: 1, size })];
    }
    case 'Speech':
      return [encode('/v1/audio/speech', { model, input: 'a' })];
    case 'Video':
    case 'Transcription':
      return [];
  }
}

const encode = (path: string, body: object): Canary => ({
  path,
  body: Buffer.from(JSON.stringify(body)),
});

const countPixels = (size: string): number =>
  size.split('x').reduce((product, side) => product * Number(side), 1);

/** `rejected`: it returned a failure, at least for this request. */
async function ask(
  { path, body: question }: Canary,
  { pool, slots, timeoutMs = TIMEOUT_MS }: CanaryOptions,
): Promise<CanaryResult | 'rejected'> {
  const signal = AbortSignal.timeout(timeoutMs);
  const isAlone = () => slots.inflight <= 1;
  const wasAlone = isAlone();
  try {
    const headers = { 'content-type': 'application/json' };
    const { statusCode, body } = await requestEngine(pool, {
      path,
      method: 'POST',
      headers,
      body: question,
      signal,
    });
    if (statusCode < 300) {
      await body.dump({ limit: MAX_ANSWER_BYTES, signal });
      return 'good';
    }
    const start = (await readBodyStart(body, MAX_ERROR_BYTES)).toString('latin1');
    signal.throwIfAborted();
    if (BUSY_STATUSES.has(statusCode)) return 'busy';
    if (statusCode < 500) return 'unknown';
    // Other work may leave no capacity for it.
    return isExcused(start) ? 'busy' : 'rejected';
  } catch {
    // Behind other work it may only have been queued.
    return signal.aborted && !(wasAlone && isAlone()) ? 'busy' : 'fault';
  }
}
