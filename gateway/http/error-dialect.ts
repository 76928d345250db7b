/** How an error is worded: OpenAI's envelope, or to clients of `/v1/messages` Anthropic's, of `/v2` Cohere's. */
import type { IncomingMessage } from 'node:http';
import type { ApiError } from './error-response.ts';
import { readRoutePath } from './request-path.ts';

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

const UNAVAILABLE = 503;
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
