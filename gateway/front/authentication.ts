/** Authenticates callers of the front; nothing is counted, since nothing is served. */
import { hashApiKey } from '../../api/identity.ts';
import { admit, type Verdict } from '../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import { ApiError } from '../http/error-response.ts';

const BEARER = /^bearer +(.*)$/i;

const REFUSALS: Partial<Record<Verdict, string>> = {
  expired: 'has expired',
  disabled: 'is disabled',
  unknown_key: 'is not valid for this endpoint',
};

/** The key's hash. Throws ApiError 401, or Redis' own error while it is away (docs/api.md, "Authentication"). */
export async function authenticate(
  redis: RedisClient,
  namespace: string,
  authorization: string | undefined,
): Promise<string> {
  const key = BEARER.exec(authorization ?? '')?.[1]?.trim();
  if (!key) throw new ApiError('invalid_api_key', 'Send the header "Authorization: Bearer <API_KEY>".');
  const sha256 = hashApiKey(key);
  const { verdict } = await admit(redis, { namespace, sha256, counted: 'no' });
  const refusal = REFUSALS[verdict];
  if (refusal) throw new ApiError('invalid_api_key', `The API key ${refusal}.`);
  return sha256;
}
