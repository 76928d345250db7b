/** Refuses what this deployment does not serve: now, or ever. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ModelKind } from '../../api/model-deployment.ts';
import { ApiError } from './error-response.ts';
import type { GatewayMiddleware } from './exchange.ts';
import { isSpoken, type RouteTable } from './routes.ts';

const RETRY_SECONDS = 30;

export const requireAvailability =
  (table: RouteTable, config: () => GatewayConfig): GatewayMiddleware =>
  (ctx, next) => {
    const { route } = ctx.state;
    const current = config();
    const { kind, paused, deleting, modelId, name } = current;
    if (route.kinds !== null && !route.kinds.includes(kind))
      throw new ApiError(
        'wrong_modality',
        `${modelId} is ${KIND_WORDS[kind]}; ${route.path} needs ${route.kinds.map((each) => KIND_WORDS[each]).join(' or ')}. ` +
          `This deployment serves ${table.listFor(current)}.`,
      );
    if (!isSpoken(route, current))
      throw new ApiError(
        'not_found',
        `The engine of this deployment (${current.enginePreset}) does not serve ${route.path}; this deployment serves ${table.listFor(current)}.`,
      );
    if ((paused || deleting) && route.served !== 'always')
      throw new ApiError(
        'no_pod_available',
        `The deployment ${name} is ${paused ? 'paused' : 'being deleted'}.`,
        // It ends by somebody's doing: an SDK that waits by itself would only hang.
        { retryAfter: RETRY_SECONDS, isFinal: true },
      );
    return next();
  };

const KIND_WORDS: Record<ModelKind, string> = {
  LLM: 'a language model',
  Embedding: 'an embedding model',
  Rerank: 'a reranking model',
  Transcription: 'a transcription model',
  Speech: 'a speech model',
  Image: 'an image model',
  Video: 'a video model',
};

export interface Unavailability {
  message: string;
  /** Seconds after which it is worth trying again. */
  retryAfter: number;
  /** It ends by somebody's doing alone. */
  isFinal: boolean;
}

const SOON = 5;
const LATER = 30;

/** `startSeconds`: what is left of the start, as far as it is known. */
export function describeUnavailability(config: GatewayConfig, startSeconds?: number): Unavailability {
  const who = `The deployment ${config.namespace}/${config.name}`;
  const isScaled = config.scaling !== undefined;
  if (config.replicas === 0 && !isScaled)
    return { message: `${who} is scaled to zero replicas.`, retryAfter: LATER, isFinal: true };
  return {
    message: `${who} has no ready replica: it is starting.`,
    // A start from zero loads the model.
    retryAfter: startSeconds ?? (isScaled ? LATER : SOON),
    isFinal: false,
  };
}
