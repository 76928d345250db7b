/** What the engine says of its tokenizer (docs/api.md, "GET /tokenizer_info"). */
import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { isObject } from '../../kit/json.ts';
import { parseJSON } from '../engine/sse-frames.ts';
import { ApiError } from '../http/error-response.ts';
import type { Handler } from '../http/exchange.ts';
import { FreshCache } from '../http/fresh-cache.ts';
import { sendJSONText } from '../http/json-answer.ts';
import { explainMissingEngine } from '../http/unavailability.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';

const PATH = '/tokenizer_info';
const TIMEOUT_MS = 10_000;
/** Chat templates and added tokens take a tenth of it. */
const MAX_BYTES = 1024 * 1024;
/** Then a restarted engine is asked again. */
const FRESH_MS = 30_000;

export interface TokenizerServices {
  config: () => GatewayConfig;
  isReady: () => boolean;
  /** Connections to the engine. */
  pool: () => Dispatcher;
}

/** The engine is asked once for all callers, and takes no slot for it. */
export function buildTokenizerHandler({ config, isReady, pool }: TokenizerServices): Handler {
  const answers = new FreshCache<string>({
    load: () => fetchInfo(pool(), config()),
    ttlMs: FRESH_MS,
    maxEntries: 1,
  });
  return async ({ exchange }) => {
    if (!isReady()) throw explainMissingEngine(config());
    sendJSONText(exchange, await answers.get(PATH));
  };
}

async function fetchInfo(pool: Dispatcher, { enginePreset }: GatewayConfig): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const request = { path: PATH, method: 'GET', signal, maxBytes: MAX_BYTES } as const;
  const { status, body } = await fetchFromEngine(pool, request).catch((error) => {
    throw error instanceof ApiError ? error : refuse('did not respond');
  });
  if (status === 404 || status === 405)
    throw new ApiError(
      'not_found',
      `The engine of this deployment (${enginePreset}) does not serve ${PATH}. vLLM does with --enable-tokenizer-info-endpoint.`,
    );
  if (status !== 200) throw refuse(`responded with status ${status}`);
  const text = body.toString();
  if (!isObject(parseJSON(text))) throw refuse('sent no JSON object');
  return text;
}

const refuse = (what: string) => new ApiError('upstream_error', `The engine ${what} to ${PATH}.`);
