/** Errors of the console, in the envelope of all Berth errors. */
import type { ErrorEnvelope } from '../../../api/api-objects.ts';

const invalid = 'invalid_request_error';
const busy = 'service_unavailable';

/** Error codes and their HTTP status; codes shared with endpoints have the same meaning. */
const CODES = {
  invalid_request_error: { status: 400, type: invalid },
  invalid_json: { status: 400, type: invalid },
  not_signed_in: { status: 401, type: 'authentication_error' },
  invalid_token: { status: 401, type: 'authentication_error' },
  https_required: { status: 403, type: 'permission_error' },
  forged_request: { status: 403, type: 'permission_error' },
  permission_denied: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: invalid },
  method_not_allowed: { status: 405, type: invalid },
  request_timeout: { status: 408, type: 'timeout_error' },
  conflict: { status: 409, type: invalid },
  /** Must be requested in parts. */
  answer_too_large: { status: 413, type: invalid },
  request_too_large: { status: 413, type: invalid },
  unsupported_media_type: { status: 415, type: invalid },
  unknown_host: { status: 421, type: invalid },
  refused: { status: 422, type: invalid },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  headers_too_large: { status: 431, type: invalid },
  /** Only logged. */
  client_left: { status: 499, type: invalid },
  internal_error: { status: 500, type: 'server_error' },
  upstream_error: { status: 502, type: 'upstream_error' },
  temporarily_unavailable: { status: 503, type: busy },
} as const;

/** The message of `temporarily_unavailable` while Redis is unavailable. */
export const REDIS_AWAY = "Berth's database is unreachable. Retrying…";

export type ConsoleErrorCode = keyof typeof CODES;

export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode;
  readonly param: string | null;
  /** Whole seconds. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ConsoleErrorCode,
    message: string,
    { param = null, retryAfter }: { param?: string | null; retryAfter?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.param = param;
    this.retryAfter = retryAfter;
  }

  get status(): number {
    return CODES[this.code].status;
  }
}

export const buildEnvelope = ({ code, message, param }: ConsoleError): ErrorEnvelope => ({
  error: { message, type: CODES[code].type, param, code },
});
