/** The text routes: from a JSON body to the engine's answer, whole or streamed, with its usage settled. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Settlements } from '../auth/settlements.ts';
import type { Capacity, EngineTarget } from '../capacity/capacity.ts';
import type { EgressAgent } from '../egress/agent.ts';
import type { Answer } from '../engine/answer.ts';
import { estimateUsage } from '../engine/answer.ts';
import { callEngine, type EnginePool } from '../engine/engine-call.ts';
import { hideEngineName } from '../engine/engine-error.ts';
import { StreamAnswer } from '../engine/stream-answer.ts';
import { WholeAnswer } from '../engine/whole-answer.ts';
import type { BodyLease } from '../http/body-memory.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { openLease, readJsonBody } from '../http/json-body.ts';
import type { GatewayState } from '../http/request-id.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import { inlineMedia } from './media-inlining.ts';
import { COUNT_TOKENS, MESSAGES } from './messages-route.ts';
import { CHAT, COMPLETIONS, EMBEDDINGS } from './openai-routes.ts';
import { RESPONSES } from './responses-route.ts';
import { readTextRequest, type TextRequest } from './text-request.ts';
import type { TextRoute } from './text-route.ts';
import { priceTokens } from './token-price.ts';
import { DETOKENIZE, RERANK, SCORE, TOKENIZE } from './translated-routes.ts';

export interface TextServices {
  config: () => GatewayConfig;
  capacity: Capacity;
  findPool: (target: EngineTarget) => EnginePool;
  egress: EgressAgent;
  settlements: Settlements;
  metrics: GatewayMetrics;
  usage: DeploymentUsage;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
}

export const buildTextHandlers = (services: TextServices) => ({
  chat_completions: (state: GatewayState) => serveText(CHAT, services, state),
  completions: (state: GatewayState) => serveText(COMPLETIONS, services, state),
  responses: (state: GatewayState) => serveText(RESPONSES, services, state),
  messages: (state: GatewayState) => serveText(MESSAGES, services, state),
  count_tokens: (state: GatewayState) => serveText(COUNT_TOKENS, services, state),
  embeddings: (state: GatewayState) => serveText(EMBEDDINGS, services, state),
  rerank: (state: GatewayState) => serveText(RERANK, services, state),
  score: (state: GatewayState) => serveText(SCORE, services, state),
  tokenize: (state: GatewayState) => serveText(TOKENIZE, services, state),
  detokenize: (state: GatewayState) => serveText(DETOKENIZE, services, state),
});

const SATURATED_RETRY_SECONDS = 5;

async function serveText(route: TextRoute, services: TextServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const config = services.config();
  const request = await readJsonBody(state, {
    limits: config.limits,
    interpret: (body) => readTextRequest(body, route, config, state.priority),
    isKept: true,
  });
  const deadline = startDeadline(exchange, config.limits.requestTimeoutMs);
  try {
    // Before a place on an engine is taken, which would stand idle meanwhile.
    if (request.media.length > 0) {
      const lease = openLease(state);
      request.payload = await inlineMedia(request, {
        agent: services.egress,
        exchange,
        maxBytes: config.limits.jsonBodyBytes,
        reserve: (bytes) => lease.tryAdd(bytes),
      });
    }
    const target = await acquire(services.capacity, state);
    if (!target.local) services.metrics.forwarded.inc();
    await runAtEngine({ route, services, state, request, target });
  } finally {
    clearTimeout(deadline);
  }
}

/** docs/api.md, "Limits". Counts from `from`, else from the request's start; before the first byte it becomes a 504. */
export function startDeadline(exchange: Exchange, timeoutMs: number, from = 0): NodeJS.Timeout {
  const left = Math.max(1, from + timeoutMs - Math.floor(exchange.elapsed()));
  return setTimeout(() => {
    const message = `The request took longer than ${timeoutMs / 1000} s.`;
    exchange.cancel(new ApiError('request_timeout', message, { status: 504 }));
  }, left);
}

export async function acquire(capacity: Capacity, state: GatewayState): Promise<EngineTarget> {
  const { exchange, keyHash: id, priority = 0 } = state;
  let acquisition = capacity.acquire(exchange.signal, { id, priority });
  if (acquisition instanceof Promise) {
    acquisition = await acquisition;
    if (exchange.canceled && 'target' in acquisition) acquisition.target.release();
    exchange.check();
  }
  if ('target' in acquisition) return acquisition.target;
  const { refusal } = acquisition;
  const why =
    refusal === 'replica_saturated' ? 'Every replica is at its concurrency limit.' : 'No replica is ready.';
  throw new ApiError(refusal, why, { retryAfter: SATURATED_RETRY_SECONDS });
}

interface EngineRun {
  route: TextRoute;
  services: TextServices;
  state: GatewayState;
  request: TextRequest;
  target: EngineTarget;
}

async function runAtEngine(run: EngineRun): Promise<void> {
  const { route, services, request, target } = run;
  const { exchange } = run.state;
  const config = services.config();
  const { modelId } = config;
  const answer: Answer = request.isStream
    ? new StreamAnswer(exchange, route.stream!.watch(modelId, request))
    : new WholeAnswer(exchange, {
        read: request.read,
        complete: (whole) => route.complete(whole, modelId, request),
        readUsage: route.readUsage,
        reserve: reserveLazily(run.state),
      });
  try {
    await callEngine({
      exchange,
      pool: services.findPool(target),
      path: target.pathPrefix + request.path,
      headers: { ...buildHeaders(exchange, request), ...target.headers },
      body: request.payload,
      answer,
      isStream: request.isStream,
      onRelease: target.release,
    });
  } catch (error) {
    if (error instanceof ApiError) {
      hideEngineName(error, config);
      noteFailure(error, services);
    }
    throw error;
  } finally {
    settleUsage(answer, run);
  }
}

/** Few answers are large: the others open no account. */
export function reserveLazily(state: GatewayState): (bytes: number) => boolean {
  let lease: BodyLease | null = null;
  return (bytes) => {
    lease ??= openLease(state);
    return lease.tryAdd(bytes);
  };
}

/** All that an engine is told; nothing of the client's own headers goes on. */
const buildHeaders = (exchange: Exchange, { isStream, payload }: TextRequest): Record<string, string> => ({
  'content-type': 'application/json',
  'content-length': String(payload.length),
  accept: isStream ? 'text/event-stream' : 'application/json',
  'x-request-id': exchange.requestId,
});

export function noteFailure(
  error: ApiError,
  { metrics, onEngineLost }: Pick<TextServices, 'metrics' | 'onEngineLost'>,
): void {
  if (error.code === 'upstream_error') onEngineLost?.();
  if (error.status >= 500) metrics.engineErrors.inc({ reason: error.code });
}

function settleUsage(answer: Answer, { services, state, request }: EngineRun): void {
  const usage =
    answer.usage ??
    (answer.estimatedTokens > 0 ? estimateUsage(request.promptBytes, answer.estimatedTokens) : null);
  if (!usage) return;
  const { namespace, pricing } = services.config();
  const { inputTokens, outputTokens, totalTokens } = usage;
  services.metrics.tokens.add(inputTokens, 'input');
  services.metrics.tokens.add(outputTokens, 'output');
  services.usage.add('inputTokens', inputTokens);
  services.usage.add('outputTokens', outputTokens);
  const micros = priceTokens(usage, pricing);
  services.settlements.add({ namespace, sha256: state.keyHash, tokens: totalTokens, micros });
}
