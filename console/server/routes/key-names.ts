/** API keys by the digits of their hash, as records and counters in Redis name them. */
import { apiKey, apiKeyResource } from '../../../api/api-key.ts';
import { HASH_DIGITS } from '../../../redis/usage/key-usage.ts';
import { viewAs } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import type { Services } from './services.ts';

const FORBIDDEN = 403;

const digitsOf = viewAs(apiKey, ({ metadata, spec, status }) => ({
  name: metadata.name,
  sha256: spec.sha256 ?? status.sha256,
}));

/** Names of those that the user may see. */
export async function readKeyNames(
  { kubernetes }: Pick<Services, 'kubernetes'>,
  token: string,
  namespace: string,
): Promise<Map<string, string>> {
  const keys = await kubernetes
    .list(token, { plural: apiKeyResource.plural, namespace }, digitsOf)
    .catch((error) => {
      if (error instanceof KubernetesError && error.status === FORBIDDEN) return [];
      throw error;
    });
  return new Map(keys.flatMap(({ name, sha256 }) => (sha256 ? [[sha256.slice(0, HASH_DIGITS), name]] : [])));
}
