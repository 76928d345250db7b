/** Readers of what the operator published. A sidecar's user may read its own workspace's; the front all. */
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { parseGatewayConfig } from '../contract/gateway-config-text.ts';
import { configKeys, globalKeys, type PublishedKey, type PublishedReplicas } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';
import type { DeploymentName } from './publication.ts';

/** A deployment's configuration, or null if none is published. Throws on one that this version cannot read. */
export async function readDeployment(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<GatewayConfig | null> {
  const text = await redis.hget(configKeys(namespace).deployments, name);
  return text === null ? null : parseGatewayConfig(text);
}

/** All deployments of a workspace by name. */
export async function readDeployments(
  redis: RedisClient,
  namespace: string,
): Promise<Map<string, GatewayConfig>> {
  const entries = await redis.hgetall(configKeys(namespace).deployments);
  return new Map(Object.entries(entries).map(([name, text]) => [name, parseGatewayConfig(text)]));
}

/** Addresses of a deployment's ready pods. */
export async function readReplicas(redis: RedisClient, namespace: string, name: string): Promise<string[]> {
  const text = await redis.hget(configKeys(namespace).replicas, name);
  return text === null ? [] : (JSON.parse(text) as PublishedReplicas).addresses;
}

/** All keys of a workspace by SHA-256. */
export async function readApiKeys(redis: RedisClient, namespace: string): Promise<Map<string, PublishedKey>> {
  const entries = await redis.hgetall(configKeys(namespace).apiKeys);
  return new Map(Object.entries(entries).map(([sha256, text]) => [sha256, JSON.parse(text) as PublishedKey]));
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

/** Null when Redis lost everything, or never had it. */
export async function readEpoch(redis: RedisClient): Promise<string | null> {
  return redis.get(globalKeys.epoch);
}

function decodeOwner(owner: string): DeploymentName {
  const [namespace = '', name = ''] = owner.split('/');
  return { namespace, name };
}
