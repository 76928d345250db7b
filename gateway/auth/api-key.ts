/** Where a request carries its API key: as OpenAI's SDKs send it, or as Anthropic's do. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/error-response.ts';

const BEARER = /^bearer +(.*)$/i;

/** Throws ApiError 401 where there is none (docs/api.md, "Authentication"). */
export function readApiKey(headers: IncomingHttpHeaders): string {
  const { authorization, 'x-api-key': own } = headers;
  const key = authorization === undefined ? String(own ?? '') : BEARER.exec(authorization)?.[1];
  const trimmed = key?.trim();
  if (trimmed) return trimmed;
  throw new ApiError(
    'invalid_api_key',
    'Send the header "Authorization: Bearer <API_KEY>", or "x-api-key: <API_KEY>".',
  );
}
