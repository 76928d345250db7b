/** Readers of what the operator published. A sidecar's user may read its own workspace's; a front, all. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { parseGatewayConfig } from '../../api/gateway-config-text.ts';
import type { DeploymentName } from '../../api/names.ts';
import {
  configKeys,
  globalKeys,
  type PublishedCredential,
  type PublishedEndpoint,
  type PublishedReplicas,
} from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';

/** A deployment's configuration, or null if none is published. Throws on one that this version cannot read. */
export async function readDeployment(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<GatewayConfig | null> {
  const text = await redis.hget(configKeys(namespace).deployments, name);
  return text === null ? null : parseGatewayConfig(text);
}

/** Names of the published deployments of a workspace, not from the list that it can write itself. */
export const listDeployments = (redis: RedisClient, namespace: string): Promise<string[]> =>
  redis.hkeys(configKeys(namespace).deployments);

/** Addresses of a deployment's ready pods. */
export async function readReplicas(redis: RedisClient, namespace: string, name: string): Promise<string[]> {
  const text = await redis.hget(configKeys(namespace).replicas, name);
  return text === null ? [] : (JSON.parse(text) as PublishedReplicas).addresses;
}

/**
 * How many pods each published deployment of these workspaces has, by `namespace/name`: `most` deployments of each. One
 * round trip.
 */
export async function countPublishedPods(
  redis: RedisClient,
  namespaces: readonly string[],
  most: number,
): Promise<Map<string, number>> {
  const batch = redis.pipeline();
  for (const keys of namespaces.map(configKeys)) batch.hkeys(keys.deployments).hgetall(keys.replicas);
  const replies = await execute(batch);
  return new Map(
    namespaces.flatMap((namespace, index) => {
      const [names, replicas] = [replies[2 * index], replies[2 * index + 1]];
      return (names as string[]).slice(0, most).map((name): [string, number] => {
        const text = (replicas as Record<string, string>)[name];
        const { addresses, pods }: PublishedReplicas = text ? JSON.parse(text) : { addresses: [] };
        return [`${namespace}/${name}`, pods ?? addresses.length];
      });
    }),
  );
}

/** All storage credentials of a workspace. */
export async function readCredentials(redis: RedisClient, namespace: string): Promise<PublishedCredential[]> {
  const entries = await redis.hgetall(configKeys(namespace).credentials);
  return Object.entries(entries)
    .filter(([field]) => field.startsWith('id:'))
    .map(([, text]) => JSON.parse(text) as PublishedCredential);
}

/** A workspace's StorageCredential by its id or name; null if there is none (anymore). */
export async function readCredential(
  redis: RedisClient,
  namespace: string,
  which: { id: number } | { name: string },
): Promise<PublishedCredential | null> {
  const { credentials } = configKeys(namespace);
  const id = 'id' in which ? String(which.id) : await redis.hget(credentials, `name:${which.name}`);
  const text = id === null ? null : await redis.hget(credentials, `id:${id}`);
  return text === null ? null : (JSON.parse(text) as PublishedCredential);
}

/** A workspace's webhook endpoints by name. */
export async function readEndpoints(
  redis: RedisClient,
  namespace: string,
): Promise<Map<string, PublishedEndpoint>> {
  const entries = await redis.hgetall(configKeys(namespace).endpoints);
  return new Map(
    Object.entries(entries).map(([name, text]) => [name, JSON.parse(text) as PublishedEndpoint]),
  );
}

/** A workspace's signing secret of webhooks, sealed (api/signing-secret.ts); null where there is none. */
export const readSigningSecret = (redis: RedisClient, namespace: string): Promise<string | null> =>
  redis.hget(configKeys(namespace).workspace, 'signingSecret');

/** Who is notified of permanently failed callbacks; null = nobody. */
export const readOwnerEmail = (redis: RedisClient, namespace: string): Promise<string | null> =>
  redis.hget(configKeys(namespace).workspace, 'ownerEmail');

/** Whether any workspace's request ids have this prefix: distinguishes another workspace's id from one that never existed. */
export async function isKnownPrefix(redis: RedisClient, prefix: string): Promise<boolean> {
  return (await redis.exists(globalKeys.requestPrefix(prefix))) === 1;
}

/** The deployment that owns a host name (any case, no port), or null. */
export async function readHost(redis: RedisClient, host: string): Promise<DeploymentName | null> {
  const owner = await redis.hget(globalKeys.hosts, host.toLowerCase());
  return owner === null ? null : decodeOwner(owner);
}

export async function readHosts(redis: RedisClient): Promise<Map<string, DeploymentName>> {
  const entries = await redis.hgetall(globalKeys.hosts);
  return new Map(Object.entries(entries).map(([host, owner]) => [host, decodeOwner(owner)]));
}

/** Namespaces that have published configuration. */
export async function readWorkspaces(redis: RedisClient): Promise<string[]> {
  return (await redis.smembers(globalKeys.workspaces)).sort();
}

/** Null if Redis lost everything, or never had it. */
export async function readEpoch(redis: RedisClient): Promise<string | null> {
  return redis.get(globalKeys.epoch);
}

function decodeOwner(owner: string): DeploymentName {
  const [namespace = '', name = ''] = owner.split('/');
  return { namespace, name };
}
