/** Runs text and audio requests on an engine: acquires a slot, then reads the response, within the request's deadline. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Acquisition, Capacity, EngineTarget } from '../capacity/capacity.ts';
import { callEngine, type EngineCallOptions, type EnginePool } from '../engine/engine-call.ts';
import { EngineUnreachableError, hideEngineName, PeerLostError } from '../engine/engine-error.ts';
import { beginEngineSpan, endEngineSpan } from '../engine/engine-span.ts';
import type { BodyLease } from '../http/body-memory.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayState } from '../http/exchange.ts';
import { openLease } from '../http/json-body.ts';
import { StreamNotices } from '../http/stream-notices.ts';
import { explainMissingEngine } from '../http/unavailability.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { inSpan, type Span } from '../tracing/span.ts';

export interface EngineServices {
  config: () => GatewayConfig;
  capacity: Capacity;
  findPool: (target: EngineTarget) => EnginePool;
  metrics: GatewayMetrics;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
}

/** `headers`: all that an engine is sent except the request's id and the length; no client headers are forwarded. */
export type EngineQuestion = Pick<EngineCallOptions, 'path' | 'headers' | 'body' | 'answer' | 'isStream'>;

const SATURATED_RETRY_SECONDS = 5;

/**
 * Rejects as `callEngine`, with the engine's errors counted; and with ApiError if no engine has a slot. Neither this nor what it calls is
 * an async function: on success, only one promise lies between the end of the response and the caller.
 */
export function answerFromEngine(
  services: EngineServices,
  state: GatewayState,
  question: EngineQuestion,
): Promise<void> {
  const { exchange, route } = state;
  const asked: TargetedQuestion = { services, exchange, question, route: route.name };
  const ask = (target: EngineTarget) =>
    callTarget(target, asked).catch((error) => askElsewhere(error, target, asked).catch(fail));
  const fail = (error: unknown) => {
    noteFailure(error, services);
    throw error;
  };
  try {
    const acquired = acquireTarget(services, state);
    return acquired instanceof Promise ? acquired.then(ask) : ask(acquired);
  } catch (error) {
    return Promise.reject(error);
  }
}

export interface TargetedQuestion {
  services: EngineServices;
  exchange: Exchange;
  question: EngineQuestion;
  /** Name of the route. */
  route: string;
}

/** Rejects as `callEngine`; the target is released. Tries another if a peer was lost before it responded, or if this engine accepts no connection. */
export const askTarget = (target: EngineTarget, asked: TargetedQuestion): Promise<void> =>
  callTarget(target, asked).catch((error) => askElsewhere(error, target, asked));

async function askElsewhere(error: unknown, lost: EngineTarget, asked: TargetedQuestion): Promise<void> {
  const substitute = await findSubstitute(error, lost, asked);
  if (!substitute) throw error;
  // Another engine responds, but this one failed.
  if (lost.local) noteFailure(error, asked.services);
  await callTarget(substitute, asked);
}

/** null: the error is returned to the client. */
async function findSubstitute(
  error: unknown,
  { origin }: EngineTarget,
  { services, exchange }: TargetedQuestion,
): Promise<EngineTarget | null> {
  const isLost = error instanceof EngineUnreachableError || error instanceof PeerLostError;
  if (!isLost || exchange.canceled || exchange.firstByteAt > 0) return null;
  const found = await services.capacity.acquireElsewhere(new Set([origin]), exchange.signal);
  if (!('target' in found)) return null;
  if (!exchange.canceled) return found.target;
  found.target.release();
  return null;
}

/** Never throws, and releases the target in each case. */
function callTarget(
  target: EngineTarget,
  { services, exchange, question, route }: TargetedQuestion,
): Promise<void> {
  try {
    if (!target.local) services.metrics.forwarded.inc();
    exchange.peer = target.local ? null : new URL(target.origin).hostname;
    const config = services.config();
    const { enginePreset: provider, modelId: model } = config;
    const span = exchange.span && beginEngineSpan(exchange.span, target, { route, provider, model });
    return callEngine({
      exchange,
      isPeer: !target.local,
      pool: services.findPool(target),
      path: target.pathPrefix + question.path,
      headers: buildHeaders(question.headers, target, { exchange, span }),
      body: question.body,
      answer: question.answer,
      isStream: question.isStream,
      onRelease: target.release,
      onEnd: (error) => {
        if (span && error) endEngineSpan(span, exchange, { usage: question.answer.usage, error });
        else if (span) endEngineSpan(span, exchange, question.answer);
        if (error instanceof ApiError) hideEngineName(error, config);
      },
    });
  } catch (error) {
    target.release();
    return Promise.reject(error);
  }
}

function buildHeaders(
  own: readonly string[],
  target: EngineTarget,
  { exchange, span }: { exchange: Exchange; span: Span | null },
): string[] {
  const headers = [...own, 'x-request-id', exchange.requestId];
  const trace = (span ?? exchange.trace)?.headers;
  if (trace) addHeaders(headers, trace);
  if (!target.local) addHeaders(headers, target.headers);
  return headers;
}

function addHeaders(headers: string[], more: Readonly<Record<string, string>>): void {
  for (const name in more) headers.push(name, more[name]!);
}

/** docs/api.md, "Limits". Counts from `from`, else from the request's start; before the first byte, expiry is a 504. */
export function startRequestDeadline(exchange: Exchange, timeoutMs: number, from = 0): NodeJS.Timeout {
  return setTimeout(
    () => {
      const message = `The request took longer than ${timeoutMs / 1000} s.`;
      exchange.cancel(new ApiError('request_timeout', message, { status: 504 }));
    },
    roundDelay(Math.max(1, from + timeoutMs - Math.floor(exchange.elapsed()))),
  );
}

/** Keeps a stream open until the engine begins. Null: the front does, which holds the request, and resends it if it is refused. */
export const noticeEngine = (
  exchange: Exchange,
  { streamKeepAliveMs: intervalMs }: Pick<GatewayConfig['limits'], 'streamKeepAliveMs'>,
): StreamNotices | null =>
  exchange.isHeldByFront
    ? null
    : new StreamNotices({ exchange, intervalMs, describe: () => 'waiting for the engine' });

/** Node keeps a list and a timer per duration: long ones are rounded up to seconds, so that requests share them. */
const roundDelay = (ms: number): number => (ms > 10_000 ? Math.ceil(ms / 1_000) * 1_000 : ms);

/** Few responses are large: the others reserve no memory. */
export function reserveLazily(state: GatewayState): (bytes: number) => boolean {
  let lease: BodyLease | null = null;
  return (bytes) => {
    lease ??= openLease(state);
    return lease.tryAdd(bytes);
  };
}

/** Synchronous if a slot is free, else after waiting in line. Fails with ApiError if no engine has a slot. */
export const acquireTarget = (
  services: Pick<EngineServices, 'capacity' | 'config'>,
  state: GatewayState,
): EngineTarget | Promise<EngineTarget> =>
  inSpan(state.exchange.span, 'wait for a place', () => acquire(services, state));

function acquire(
  { capacity, config }: Pick<EngineServices, 'capacity' | 'config'>,
  state: GatewayState,
): EngineTarget | Promise<EngineTarget> {
  const { exchange, keyHash: id, priority = 0, prefix } = state;
  const acquired = capacity.acquire(exchange.signal, { id, priority, prefix });
  if (!(acquired instanceof Promise)) return readTarget(acquired, config);
  return acquired.then((acquisition) => {
    if (exchange.canceled && 'target' in acquisition) acquisition.target.release();
    exchange.check();
    return readTarget(acquisition, config);
  });
}

function readTarget(acquisition: Acquisition, config: () => GatewayConfig): EngineTarget {
  if ('target' in acquisition) return acquisition.target;
  if (acquisition.refusal === 'no_pod_available') throw explainMissingEngine(config());
  throw new ApiError('replica_saturated', 'Every replica is at its concurrency limit.', {
    retryAfter: SATURATED_RETRY_SECONDS,
  });
}

/** Counts an engine's error, and triggers a health probe if it may be lost. */
export function noteFailure(error: unknown, { metrics, onEngineLost }: EngineServices): void {
  if (!(error instanceof ApiError)) return;
  if (error.code === 'upstream_error') onEngineLost?.();
  if (error.status >= 500) metrics.engineErrors.inc({ reason: error.code });
}
