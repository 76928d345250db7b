/** A question of text or audio to an engine, whose response is the client's: asked elsewhere if its engine was lost, or refused it, before it responded. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Share } from '../../kit/shares.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import { callEngine, type EngineCallOptions } from '../engine/engine-call.ts';
import {
  EngineRefusedError,
  EngineUnreachableError,
  hideEngineName,
  PeerLostError,
} from '../engine/engine-error.ts';
import { endEngineSpan } from '../engine/engine-span.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayState } from '../http/exchange.ts';
import { openLease } from '../http/json-body.ts';
import { StreamNotices } from '../http/stream-notices.ts';
import type { Span } from '../tracing/span.ts';
import {
  acquire,
  acquireTarget,
  type EngineServices,
  enterTarget,
  hasAskedOwnEngine,
  noteFailure,
} from './engine-run.ts';

/** `headers`: all that an engine is sent except the request's id and the length; no client headers are forwarded. */
export type EngineQuestion = Pick<EngineCallOptions, 'path' | 'headers' | 'body' | 'answer' | 'isStream'>;

/**
 * Rejects as `callEngine`, with the engine's errors counted; and with ApiError if no engine has a slot. Neither this nor what it calls is
 * an async function: on success, only one promise lies between the end of the response and the caller.
 */
export function answerFromEngine(
  services: EngineServices,
  state: GatewayState,
  question: EngineQuestion,
): Promise<void> {
  const asked: TargetedQuestion = { services, state, question };
  const ask = (target: EngineTarget) =>
    callTarget(target, asked).catch((error) => askElsewhere(error, target, asked).catch(fail));
  const fail = (error: unknown) => {
    noteFailure(error, services, hasAskedOwnEngine(state.exchange, services.config()));
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
  state: GatewayState;
  question: EngineQuestion;
}

/** Rejects as `callEngine`; the target is released. Tries another if a peer was lost before it responded, or if this engine accepts no connection or refuses the request. */
export const askTarget = (target: EngineTarget, asked: TargetedQuestion): Promise<void> =>
  callTarget(target, asked).catch((error) => askElsewhere(error, target, asked));

async function askElsewhere(error: unknown, lost: EngineTarget, asked: TargetedQuestion): Promise<void> {
  const substitute = await findSubstitute(error, lost, asked);
  if (!substitute) throw error;
  // Another engine responds, but this one failed.
  if (lost.local) noteFailure(error, asked.services);
  asked.question.answer.restart?.();
  // After another version, this deployment has its own substitute.
  await (lost.version === undefined ? callTarget(substitute, asked) : askTarget(substitute, asked));
}

/** null: the error is returned to the client. */
async function findSubstitute(
  error: unknown,
  { origin, version }: EngineTarget,
  { services, state }: TargetedQuestion,
): Promise<EngineTarget | null> {
  const { exchange } = state;
  const isLost =
    error instanceof EngineUnreachableError ||
    error instanceof PeerLostError ||
    error instanceof EngineRefusedError;
  if (!isLost || exchange.canceled || exchange.firstByteAt > 0) return null;
  // This deployment has not been asked yet: it answers, or says why it cannot.
  if (version !== undefined) {
    exchange.nameVersion(services.config().name);
    exchange.askedOrigin = null;
    return acquire(services, state);
  }
  const found = await services.capacity.acquireElsewhere(new Set([origin]), exchange.signal);
  if (!('target' in found)) return null;
  if (!exchange.canceled) return found.target;
  found.target.release();
  return null;
}

/** Never throws, and releases the target in each case. */
function callTarget(
  target: EngineTarget,
  { services, state: { exchange, route }, question }: TargetedQuestion,
): Promise<void> {
  try {
    const config = services.config();
    const span = enterTarget(target, exchange, { services, route: route.name, config });
    return callEngine({
      exchange,
      isPeer: !target.local,
      isForAdapter: config.adapter !== undefined,
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

/** Keeps a stream open until the engine begins. Null: the front does, which holds the request, and resends it if it is refused. */
export const noticeEngine = (
  exchange: Exchange,
  { streamKeepAliveMs: intervalMs }: Pick<GatewayConfig['limits'], 'streamKeepAliveMs'>,
): StreamNotices | null =>
  exchange.isHeldByFront
    ? null
    : new StreamNotices({ exchange, intervalMs, describe: () => 'waiting for the engine' });

/** Few responses are large: the others reserve no memory. */
export function reserveLazily(state: GatewayState): (bytes: number) => boolean {
  let lease: Share | null = null;
  return (bytes) => {
    lease ??= openLease(state);
    return lease.tryAdd(bytes);
  };
}
