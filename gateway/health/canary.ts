/**
 * The smallest piece of work that an engine can be asked for. It tells an engine that is broken from one that answers 500
 * to requests which are wrong in a way that it does not know.
 */
import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { buildGenerationBody } from '../engine/image-body.ts';

/** `busy`: it is worth asking again. `unknown`: nothing that may be asked tells anything. */
export type CanaryResult = 'good' | 'fault' | 'busy' | 'unknown';

interface Canary {
  path: string;
  body: Buffer;
}

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const BUSY_STATUSES = new Set([429, 503]);

/** Never throws. */
export async function tryEngine(
  pool: Dispatcher,
  config: GatewayConfig,
  timeoutMs = TIMEOUT_MS,
): Promise<CanaryResult> {
  for (const canary of listCanaries(config)) {
    const result = await ask(pool, canary, timeoutMs);
    if (result !== 'unknown') return result;
  }
  return 'unknown';
}

/** A base model has no template for chats. Of videos none is small enough. */
function listCanaries({ kind, servedModelName: model, image }: GatewayConfig): Canary[] {
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
    case 'Image': {
      const size = image?.sizes.toSorted((a, b) => countPixels(a) - countPixels(b))[0];
      if (!size || !image?.tasks.includes('txt2img')) return [];
      const { path, open } = buildGenerationBody(model, { task: 'txt2img', prompt: 'a', n: 1, size });
      return [{ path, body: open() as Buffer }];
    }
    case 'Video':
      return [];
  }
}

const encode = (path: string, body: object): Canary => ({ path, body: Buffer.from(JSON.stringify(body)) });

const countPixels = (size: string): number =>
  size.split('x').reduce((product, side) => product * Number(side), 1);

async function ask(pool: Dispatcher, { path, body }: Canary, timeoutMs: number): Promise<CanaryResult> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    const { statusCode, body: answer } = await pool.request({ path, method: 'POST', headers, body, signal });
    await answer.dump({ limit: MAX_ANSWER_BYTES, signal });
    if (statusCode < 300) return 'good';
    if (BUSY_STATUSES.has(statusCode)) return 'busy';
    return statusCode >= 500 ? 'fault' : 'unknown';
  } catch {
    return 'fault';
  }
}
