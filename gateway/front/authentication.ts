/** Authenticates callers of the front; nothing is counted, since nothing is served. */
import type { IncomingHttpHeaders } from 'node:http';
import { hashApiKey } from '../../api/identity.ts';
import { admit, type Verdict } from '../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readApiKey } from '../auth/authentication.ts';
import { ApiError } from '../http/error-response.ts';

const REFUSALS: Partial<Record<Verdict, string>> = {
  expired: 'has expired',
  disabled: 'is disabled',
  unknown_key: 'is not valid for this endpoint',
};

/** The key's hash. Throws ApiError 401, or Redis' own error while it is away (docs/api.md, "Authentication"). */
export async function authenticate(
  redis: RedisClient,
  namespace: string,
  headers: IncomingHttpHeaders,
): Promise<string> {
  const sha256 = hashApiKey(readApiKey(headers));
  const { verdict } = await admit(redis, { namespace, sha256, counted: 'no' });
  const refusal = REFUSALS[verdict];
  if (refusal) throw new ApiError('invalid_api_key', `The API key ${refusal}.`);
  return sha256;
}
