/** Publishes entries that are known only after reconciling: until then, as after a restart, Redis keeps what it holds. */
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';
import { publishCredentials, publishEndpoints } from '../../redis/publication/publication.ts';
import { readCredentials, readEndpoints } from '../../redis/publication/published.ts';
import type { WantedCredential, WantedEndpoint } from './desired-state.ts';

export async function writeCredentials(
  redis: RedisClient,
  namespace: string,
  wanted: readonly WantedCredential[],
): Promise<void> {
  const isUnknown = wanted.some(({ entry }) => entry === undefined);
  const present = isUnknown ? await readCredentials(redis, namespace) : [];
  const entries = wanted.map(({ name, entry }) =>
    entry === undefined ? present.find((credential) => credential.name === name) : entry,
  );
  const known = entries.filter((entry) => entry !== undefined && entry !== null);
  await publishCredentials(redis, namespace, known);
}

export async function writeEndpoints(
  redis: RedisClient,
  namespace: string,
  wanted: readonly WantedEndpoint[],
): Promise<void> {
  const isUnknown = wanted.some(({ entry }) => entry === undefined);
  const present = isUnknown ? await readEndpoints(redis, namespace) : new Map<string, never>();
  const entries = wanted.flatMap(({ name, entry = present.get(name) }): [string, PublishedEndpoint][] =>
    entry ? [[name, entry]] : [],
  );
  await publishEndpoints(redis, namespace, new Map(entries));
}
