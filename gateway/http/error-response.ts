/** Errors as sent to clients: in OpenAI's envelope, or to clients of `/v1/messages` in Anthropic's, of `/v2` in Cohere's (decision 0167). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorEnvelope } from '../../api/api-objects.ts';
import { buildErrorEnvelope, ERRORS, type ErrorCode } from '../../api/errors.ts';
import { readRoutePath } from './request-path.ts';

export interface ApiErrorDetails {
  /** Where it differs from the table's. */
  status?: number;
  param?: string | null;
  /** Whole seconds. */
  retryAfter?: number;
  /** A finer code than the table's, such as an engine's own. */
  detailCode?: string;
  /** More response headers, alternating names and values. */
  headers?: string[];
  /** Logged instead of a message that quotes an engine, which may repeat prompts or output. */
  logMessage?: string;
  /** Whatever the table says, SDKs must not retry the request by themselves. */
  isFinal?: boolean;
}

/** Longer waits are no use to an SDK's retry, and some SDKs would sleep for hours. */
const MAX_RETRY_AFTER_SECONDS = 60;
const UNAVAILABLE = 503;
const GATEWAY_TIMEOUT = 504;

/** An error that is answered in the envelope (docs/api.md, "Errors"). */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ApiErrorDetails;

  constructor(code: ErrorCode, message: string, details: ApiErrorDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  withoutRetry(): ApiError {
    return new ApiError(this.code, this.message, { ...this.details, isFinal: true });
  }

  /** Whether an SDK may retry the request by itself. */
  get mayRetry(): boolean {
    const { isFinal, retryAfter = 0 } = this.details;
    const isSoon = retryAfter <= MAX_RETRY_AFTER_SECONDS;
    return ERRORS[this.code].retry && !isFinal && isSoon && this.status !== GATEWAY_TIMEOUT;
  }

  /** What may be logged. */
  get logMessage(): string {
    return this.details.logMessage ?? this.message;
  }

  get status(): number {
    return this.details.status ?? ERRORS[this.code].status;
  }
}

/** Set per installation, so per process. */
let documentationSite: string | undefined;

/** Sets the base URL of `documentation_url` in all later errors; without one they have none. */
export function setDocumentationSite(site: string | undefined): void {
  documentationSite = site;
}

export function buildEnvelope(error: ApiError): ErrorEnvelope {
  const envelope = buildErrorEnvelope(error.code, error.message, {
    param: error.details.param ?? null,
    site: documentationSite,
  });
  if (error.details.detailCode) envelope.error.code = error.details.detailCode;
  return envelope;
}

/** Alternating names and values. */
export function buildErrorHeaders(error: ApiError, requestId: string): string[] {
  const { retryAfter, headers } = error.details;
  const list = ['x-request-id', requestId];
  if (error.code === 'invalid_api_key') list.push('www-authenticate', 'Bearer');
  // Clients obey it before all else: a 503 that only a person ends has none (docs/api.md, "Unavailable").
  if (retryAfter !== undefined && (error.mayRetry || error.status !== UNAVAILABLE))
    list.push('retry-after', String(retryAfter));
  if (!error.mayRetry) list.push('x-should-retry', 'false');
  if (headers) list.push(...headers);
  return list;
}

export type ErrorDialect = 'openai' | 'anthropic' | 'cohere';

const ANTHROPIC_PATH = '/v1/messages';
const COHERE_PATH = '/v2/';

/** By the path, or by the header that Anthropic's SDKs always send, so that errors before routing have it, too. */
export function readErrorDialect(
  { url, headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  path = readRoutePath(url),
): ErrorDialect {
  if (path.startsWith(ANTHROPIC_PATH) || headers['anthropic-version'] !== undefined) return 'anthropic';
  return path.startsWith(COHERE_PATH) ? 'cohere' : 'openai';
}

/** Sends the dialect's envelope, or aborts a response that has started; never throws. */
export function sendError(
  res: ServerResponse,
  error: ApiError,
  requestId: string,
  dialect: ErrorDialect = 'openai',
): void {
  if (res.destroyed || res.writableEnded) return;
  if (res.headersSent) {
    // A partial response must not look complete.
    res.destroy();
    return;
  }
  const isAnthropic = dialect === 'anthropic';
  const text = JSON.stringify(isAnthropic ? buildAnthropicError(error, requestId) : describe(error, dialect));
  const headers = buildErrorHeaders(error, requestId);
  if (isAnthropic) headers.push('request-id', requestId);
  headers.push('content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text)));
  res.writeHead(isAnthropic ? anthropicStatus(error) : error.status, headers).end(text);
}

/** Cohere's has only the message; the other members are ours. */
const describe = (error: ApiError, dialect: ErrorDialect): object => ({
  ...(dialect === 'cohere' && { message: error.message }),
  ...buildEnvelope(error),
});

export const JSON_TYPE = 'application/json; charset=utf-8';

export interface AnthropicError {
  type: 'error';
  error: { type: string; message: string };
  request_id: string;
}

export const buildAnthropicError = (error: ApiError, requestId: string): AnthropicError => ({
  type: 'error',
  error: { type: typeOf(error), message: error.message },
  request_id: requestId,
});

const OVERLOADED = 529;
const BILLING = 402;

/**
 * A full deployment is Anthropic's 529, which clients wait out, as opposed to the 429 of a key's limit; credit that is
 * used up is 402 there. All others are as in OpenAI's dialect.
 */
export function anthropicStatus({ code, status }: Pick<ApiError, 'code' | 'status'>): number {
  if (code === 'replica_saturated') return OVERLOADED;
  return code === 'insufficient_quota' ? BILLING : status;
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Its clients wait out `overloaded_error` for minutes, so it is only for what passes. */
function typeOf(error: ApiError): string {
  const status = anthropicStatus(error);
  if (status === UNAVAILABLE && !error.mayRetry) return 'api_error';
  return TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}
