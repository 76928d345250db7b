/** One shape for the errors of all engines: nested, flat, `{detail}`, `{error: "…"}` and plain text. */

import type { ErrorCode } from '../../api/errors.ts';
import { isNotConnected } from '../../kit/connection-error.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { ApiError } from '../http/error-response.ts';
import { UNAVAILABILITIES } from '../http/unavailability.ts';

const MAX_MESSAGE_LENGTH = 2_000;
const SATURATED_RETRY_SECONDS = 5;
const OUT_OF_MEMORY =
  /out of (gpu |device |cuda )?memory|OutOfMemory|CUDA_ERROR_OUT_OF_MEMORY|HIP out of memory|failed to allocate|cannot allocate memory/i;

/** Phrases of vLLM, SGLang, llama.cpp and TEI. */
const CONTEXT_OVERFLOW =
  /maximum context length|model's context length|maximum model length|maximum allowed length|available context size|must have less than \d+ tokens/i;
/** vLLM from 0.29 on (`vllm/exceptions.py`) and SGLang 0.5.23 (`srt/managers/scheduler.py`), with a limit for their own queue. */
const QUEUE_FULL =
  /cannot accept new requests|prefill token backlog limit|request queue is full|aborted by a higher priority request|Request waiting timeout reached/;
/** vLLM while it drains: its thread pool is closed, and its health check good (seen with 0.32). */
export const DRAINING = /cannot schedule new futures after shutdown/;
/** vLLM from 0.31 on: the arguments that it generated for a tool of a message are no object, which it blames on the request. */
const INVALID_OUTPUT = /validation errors? for AnthropicContentBlock/;
/** SGLang's type for the same on `/v1/messages`, without its words. */
const OVERLOADED = 'overloaded_error';
/** llama.cpp returns a server error for media that its model does not read (seen with build 11669). */
export const UNREAD_MEDIA = /(image|audio|video) input is not supported/;
/** llama.cpp returns a server error for a long embedding input. Bounded: an unbounded `.*` takes quadratic time. */
const INPUT_OVERFLOW = /input.{0,100} is too large to process/i;

/** The engine had too little memory for the request; another request may succeed. */
export class EngineMemoryError extends ApiError {
  constructor(text: string) {
    super('upstream_error', `The engine ran out of memory: ${text}`, {
      logMessage: 'The engine ran out of memory.',
    });
  }
}

/** The engine did not begin with the request: another may serve it. */
export class EngineRefusedError extends ApiError {}

/** The engine has not loaded the adapter that it was asked for. */
export class AdapterMissingError extends EngineRefusedError {
  constructor() {
    const { code, retryAfter } = UNAVAILABILITIES.starting;
    super(code, 'The engine has not loaded the adapter.', { retryAfter });
  }
}

/** The engine aborted the request, such as when it is stopped. */
export class EngineAbortedError extends ApiError {
  constructor() {
    super('upstream_error', 'The engine aborted the request before its response was complete.');
  }
}

/** An engine that no longer accepts connections, and sends nothing on those that it has. */
export class EngineDesertedError extends Error {}

/** No connection was established, so the engine never received the request. */
export class EngineUnreachableError extends ApiError {
  constructor() {
    super('upstream_error', 'Could not connect to the engine.');
  }
}

/** The replica that relayed to its engine is gone. */
export class PeerLostError extends ApiError {
  constructor() {
    super('upstream_error', 'The replica closed the connection without a response.');
  }
}

/** `hasResponded`: the status was received. */
export function describeConnectionLoss(cause: unknown, hasResponded: boolean): ApiError {
  if (isNotConnected(cause)) return new EngineUnreachableError();
  if (cause instanceof EngineDesertedError)
    return new ApiError('upstream_error', 'The engine stopped before its response was complete.');
  // Thrown by what writes it again.
  if (cause instanceof RangeError)
    return new ApiError('upstream_error', 'The engine returned JSON that is nested too deeply.');
  return new ApiError(
    'upstream_error',
    hasResponded
      ? 'The engine closed the connection before its response was complete.'
      : 'The engine closed the connection without a response.',
  );
}

/** Replaces the engine's own model name, which may be a path on its disk, with the model's id. */
export function hideEngineName(
  error: ApiError,
  { servedModelName, modelId }: { servedModelName: string; modelId: string },
): void {
  if (servedModelName === modelId || !error.message.includes(servedModelName)) return;
  const name = servedModelName.replace(/[^\w\s]/g, '\\$&');
  error.message = error.message.replace(new RegExp(`(?<![\\w/.-])${name}(?![\\w/-])`, 'g'), () => modelId);
}

interface EngineComplaint {
  message: string;
  type: string | null;
  /** Null if the engine sent none, or a number. */
  code: string | null;
  param: string | null;
}

const untyped = (message: string, code: string | null = null): EngineComplaint => ({
  message,
  type: null,
  code,
  param: null,
});

/** vLLM's words for a name that it does not serve; other unknown things are also 404. */
const UNKNOWN_MODEL = /^The model .* does not exist/;

export const isUnknownModel = (status: number, body: Buffer): boolean =>
  status === 404 && UNKNOWN_MODEL.test(readComplaint(body)?.message ?? '');

/** The error of an engine's response with a status of 400 or above. */
export function readEngineError(status: number, body: Buffer): ApiError {
  return buildEngineError(status, readComplaint(body) ?? untyped(''));
}

/** The error in a response or stream event of status 200; null if there is none. */
export function findEngineError(value: unknown): ApiError | null {
  if (!isObject(value)) return null;
  const isComplaint =
    (value.error !== undefined && value.error !== null) ||
    value.object === 'error' ||
    (value.choices === undefined &&
      value.data === undefined &&
      (value.detail !== undefined || isFlat(value)));
  if (!isComplaint) return null;
  const status = isObject(value.error) ? value.error.code : value.code;
  return buildEngineError(typeof status === 'number' ? status : 500, describeComplaint(value));
}

/**
 * An engine that is stopped ends chats with the finish reason `abort`, messages without a stop reason and responses as
 * `cancelled`: the output is incomplete.
 */
export function findAbortedError({
  choices,
  object,
  status,
  type,
  stop_reason,
}: JSONObject): ApiError | null {
  const isAborted =
    (Array.isArray(choices) &&
      choices.some((choice) => isObject(choice) && choice.finish_reason === 'abort')) ||
    (object === 'response' && status === 'cancelled') ||
    (type === 'message' && (stop_reason ?? null) === null);
  return isAborted ? new EngineAbortedError() : null;
}

const isFlat = (value: Record<string, unknown>): boolean =>
  typeof value.message === 'string' && (value.code !== undefined || value.type !== undefined);

function buildEngineError(status: number, complaint: EngineComplaint): ApiError {
  const { code, param } = complaint;
  const text = complaint.message.slice(0, MAX_MESSAGE_LENGTH);
  if (OUT_OF_MEMORY.test(complaint.message)) return new EngineMemoryError(text);
  if (status < 500 ? CONTEXT_OVERFLOW.test(complaint.message) : INPUT_OVERFLOW.test(complaint.message))
    return new ApiError('context_length_exceeded', text);
  if (status >= 500 && DRAINING.test(complaint.message)) return refuseAsDraining();
  if (status >= 500 && (QUEUE_FULL.test(complaint.message) || complaint.type === OVERLOADED))
    return refuseAsFull(text);
  if (INVALID_OUTPUT.test(complaint.message)) return describeFailure(status, text);
  if (status >= 500 && UNREAD_MEDIA.test(complaint.message)) return new ApiError('unsupported_value', text);
  const details = { param, detailCode: code ?? undefined };
  switch (status) {
    case 400:
      return new ApiError(classifyRefusal(complaint), text || 'The engine rejected the request.', details);
    case 413:
      return new ApiError('request_too_large', text || 'The request is too large for the engine.', details);
    case 422:
      return new ApiError(classifyRefusal(complaint), text || 'The engine cannot process the request.', {
        ...details,
        status,
      });
    case 429:
      return refuseAsFull(text);
    default:
      return describeFailure(status, text);
  }
}

const describeFailure = (status: number, text: string): ApiError =>
  new ApiError(
    'upstream_error',
    text ? `The engine failed: ${text}` : `The engine responded with status ${status}.`,
    { logMessage: `The engine failed with status ${status}; see its log for the cause.` },
  );

const refuseAsFull = (text: string): EngineRefusedError =>
  new EngineRefusedError('replica_saturated', `The engine is at capacity${text ? `: ${text}` : '.'}`, {
    retryAfter: SATURATED_RETRY_SECONDS,
  });

function refuseAsDraining(): EngineRefusedError {
  const { code, retryAfter } = UNAVAILABILITIES.replicaStopping;
  return new EngineRefusedError(code, 'The engine is shutting down.', { retryAfter });
}

/** By the wording of pydantic, which vLLM and SGLang validate with. */
function classifyRefusal({ message, param }: EngineComplaint): ErrorCode {
  if (param === null) return 'invalid_request_error';
  if (/Field required/.test(message)) return 'missing_required_parameter';
  return /Input should be a valid/.test(message) ? 'invalid_type' : 'invalid_value';
}

function readComplaint(body: Buffer): EngineComplaint | null {
  const text = body.toString('utf8').trim();
  if (text === '') return null;
  try {
    return describeComplaint(JSON.parse(text));
  } catch {
    // A proxy's error page is of no use to a caller.
    return text.startsWith('<') ? null : untyped(text);
  }
}

function describeComplaint(value: unknown): EngineComplaint {
  if (!isObject(value)) return untyped(stringify(value));
  const inner = value.error ?? value;
  if (!isObject(inner)) return untyped(stringify(inner), readString(value.code));
  const message = inner.message ?? inner.detail ?? inner.error_message ?? inner;
  const { type, code, param } = inner;
  return {
    message: stringify(message),
    type: readString(type),
    code: readString(code),
    param: readParam(param),
  };
}

/** Engines put their HTTP status into `code`, too. */
const readString = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && !/^\d+$/.test(value) ? value : null;
/** As OpenAI writes it: vLLM's `body.tools.0.type` is `tools[0].type`. */
const readParam = (value: unknown): string | null =>
  readString(value)
    ?.replace(/^body\./, '')
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]') ?? null;
const stringify = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value).slice(0, MAX_MESSAGE_LENGTH);
