/** API keys by the digits of their hash, as in Redis' records and counters. */
import { apiKey, apiKeyResource } from '../../../api/api-key.ts';
import { HASH_DIGITS } from '../../../redis/usage/key-usage.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { viewAs } from '../kubernetes/object.ts';
import { hashOf, hintOf, type KnownKey } from '../views/key.ts';
import type { Services } from './services.ts';

const FORBIDDEN = 403;

const known = viewAs(apiKey, (key) => ({
  sha256: hashOf(key),
  key: { name: key.metadata.name, hint: hintOf(key), owner: key.spec.owner ?? null } satisfies KnownKey,
}));

/** Those that the user may see. */
export async function readKnownKeys(
  { kubernetes }: Pick<Services, 'kubernetes'>,
  token: string,
  namespace: string,
): Promise<Map<string, KnownKey>> {
  const keys = await kubernetes
    .list(token, { plural: apiKeyResource.plural, namespace }, known)
    .catch((error) => {
      if (error instanceof KubernetesError && error.status === FORBIDDEN) return [];
      throw error;
    });
  return new Map(keys.flatMap(({ sha256, key }) => (sha256 ? [[sha256.slice(0, HASH_DIGITS), key]] : [])));
}
