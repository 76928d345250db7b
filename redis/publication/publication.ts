/** Writers of the configuration that gateways read (`c:` and `g:` keys). They write and notify only on changes. */

import { type Budget, encodeBudget } from '../../api/budget.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { DeploymentName } from '../../api/names.ts';
import {
  configKeys,
  globalKeys,
  type PublishedCredential,
  type PublishedEndpoint,
  type PublishedKey,
  type PublishedReplicas,
  workKeys,
} from '../../api/redis-keys.ts';
import { openSigningSecret, sealSigningSecret } from '../../api/signing-secret.ts';
import type { RedisClient } from '../client.ts';
import { commit, type HashField, replaceHash, writeField, writeFields } from './hash-publication.ts';

/** Replaces a workspace's keys (by SHA-256) exactly. Like all functions here, returns whether something changed. */
export async function publishApiKeys(
  redis: RedisClient,
  namespace: string,
  keys: ReadonlyMap<string, PublishedKey>,
): Promise<boolean> {
  const wanted = new Map([...keys].map(([sha256, key]) => [sha256, encodeKey(key)]));
  return replaceHash(redis, configKeys(namespace).apiKeys, wanted, { what: 'apikeys', namespace });
}

/** Writes some of a workspace's keys, and removes those without a value. */
export function publishChangedApiKeys(
  redis: RedisClient,
  namespace: string,
  keys: ReadonlyMap<string, PublishedKey | undefined>,
): Promise<boolean> {
  const { apiKeys } = configKeys(namespace);
  const fields = [...keys].map(
    ([sha256, key]): HashField => ({ key: apiKeys, field: sha256, value: key ? encodeKey(key) : null }),
  );
  return writeFields(redis, fields, { what: 'apikeys', namespace });
}

export async function publishDeployment(redis: RedisClient, config: GatewayConfig): Promise<boolean> {
  const { namespace, name } = config;
  const { deployments, limits } = configKeys(namespace);
  const wanted: HashField[] = [
    { key: deployments, field: name, value: JSON.stringify(config) },
    { key: limits, field: name, value: config.deleting ? null : encodeLimits(config) },
  ];
  return writeFields(redis, wanted, { what: 'deployment', namespace, name });
}

function encodeLimits({ kind, limits, registrationId }: GatewayConfig): string {
  const jobMs = kind === 'Image' ? limits.imageJobTimeoutMs : limits.videoTimeoutMs;
  return [limits.maxQueued, limits.recordRetentionMs, jobMs, registrationId].join(' ');
}

/** Removes a deployment's configuration, replicas, heartbeats, latest requests and history of scaling; its hosts are removed by `removeHost`. */
export async function removeDeployment(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<boolean> {
  const { deployments, limits, replicas, scaling } = configKeys(namespace);
  const { heartbeats: heartbeatsOf, recent } = workKeys(namespace);
  const heartbeats = heartbeatsOf(name);
  const [config, addresses, beating] = await Promise.all([
    redis.hexists(deployments, name),
    redis.hexists(replicas, name),
    redis.exists(heartbeats),
  ]);
  if (config + addresses + beating === 0) return false;
  const batch = redis
    .multi()
    .hdel(deployments, name)
    .hdel(limits, name)
    .hdel(replicas, name)
    .unlink(heartbeats, recent(name), scaling(name));
  return commit(batch, { what: 'deployment', namespace, name });
}

/** Replaces the addresses of a deployment's ready pods; `pods`: the number of all its pods. */
export async function publishReplicas(
  redis: RedisClient,
  namespace: string,
  name: string,
  addresses: readonly string[],
  pods = addresses.length,
): Promise<boolean> {
  const known = [...new Set(addresses)].sort();
  const replicas: PublishedReplicas = { addresses: known, ...(pods > known.length && { pods }) };
  const value = known.length + pods === 0 ? null : JSON.stringify(replicas);
  const field = { key: configKeys(namespace).replicas, field: name, value };
  return writeField(redis, field, { what: 'replicas', namespace, name });
}

export interface PublishedWorkspace {
  /** The workspace's total credit, in millionths; null = unlimited. */
  creditMicros: number | null;
  /** Why nothing may be queued on this Redis (`evaluateServer`); null = it may. */
  asyncRefusal: string | null;
  /** Who is notified of permanently failed callbacks; null = nobody. */
  ownerEmail: string | null;
  /** How long parameters of ended requests are kept; null = not at all. */
  keepInputsMs: number | null;
  /** ISO 4217; null = not known. */
  currency: string | null;
  /** Budgets of owners of keys, by name. */
  owners: ReadonlyMap<string, Budget>;
  /** The webhook signing secret, and the workspace's data key to seal it with; null = none. */
  signingSecret: { secret: string; dataKey: Buffer } | null;
}

/** Sets the given settings of a workspace; the rest stays. */
export async function publishWorkspace(
  redis: RedisClient,
  namespace: string,
  { signingSecret, owners, ...workspace }: Partial<PublishedWorkspace>,
): Promise<boolean> {
  const key = configKeys(namespace).workspace;
  const wanted = Object.entries(workspace).flatMap(([field, value]): HashField[] =>
    value === undefined ? [] : [{ key, field, value: value === null ? null : String(value) }],
  );
  if (owners) wanted.push(...(await listOwnerFields(redis, key, owners)));
  if (signingSecret !== undefined) {
    const field = 'signingSecret';
    const present = signingSecret && (await redis.hget(key, field));
    wanted.push({ key, field, value: signingSecret && sealUnlessSame(signingSecret, namespace, present) });
  }
  return writeFields(redis, wanted, { what: 'workspace', namespace });
}

const OWNER = 'owner:';

/** Budgets to write, and those of other owners to remove. */
async function listOwnerFields(
  redis: RedisClient,
  key: string,
  owners: ReadonlyMap<string, Budget>,
): Promise<HashField[]> {
  const present = (await redis.hkeys(key)).filter((field) => field.startsWith(OWNER));
  const obsolete = present.filter((field) => !owners.has(field.slice(OWNER.length)));
  return [
    ...obsolete.map((field) => ({ key, field, value: null })),
    ...[...owners].map(([name, budget]) => ({ key, field: `${OWNER}${name}`, value: encodeBudget(budget) })),
  ];
}

/** The current text if it holds the same secret, since sealing gives a different text each time. */
function sealUnlessSame(
  { secret, dataKey }: { secret: string; dataKey: Buffer },
  namespace: string,
  present: string | null,
): string {
  if (present !== null && openSigningSecret(present, namespace, dataKey) === secret) return present;
  return sealSigningSecret(secret, namespace, dataKey);
}

/** Replaces a workspace's webhook endpoints (by name) exactly. */
export async function publishEndpoints(
  redis: RedisClient,
  namespace: string,
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): Promise<boolean> {
  const wanted = new Map([...endpoints].map(([name, endpoint]) => [name, JSON.stringify(endpoint)]));
  return replaceHash(redis, configKeys(namespace).endpoints, wanted, { what: 'workspace', namespace });
}

/** Replaces a workspace's storage credentials exactly. */
export async function publishCredentials(
  redis: RedisClient,
  namespace: string,
  credentials: readonly PublishedCredential[],
): Promise<boolean> {
  const wanted = new Map(
    credentials.flatMap((credential): [string, string][] => [
      [`id:${credential.id}`, JSON.stringify(credential)],
      [`name:${credential.name}`, String(credential.id)],
    ]),
  );
  return replaceHash(redis, configKeys(namespace).credentials, wanted, { what: 'workspace', namespace });
}

/** Publishes the prefix of a workspace's request ids (`workspacePrefix`). */
export async function publishRequestPrefix(redis: RedisClient, prefix: string): Promise<void> {
  await redis.set(globalKeys.requestPrefix(prefix), '1');
}

export async function removeRequestPrefix(redis: RedisClient, prefix: string): Promise<void> {
  await redis.del(globalKeys.requestPrefix(prefix));
}

/** Removes all that was published about a workspace. Its spending stays: a mistake here must not refund it. */
export async function removeWorkspace(redis: RedisClient, namespace: string): Promise<boolean> {
  const keys = configKeys(namespace);
  const published = [
    keys.apiKeys,
    keys.workspace,
    keys.deployments,
    keys.limits,
    keys.replicas,
    keys.credentials,
    keys.endpoints,
  ];
  const [known, existing] = await Promise.all([
    redis.sismember(globalKeys.workspaces, namespace),
    redis.exists(...published),
  ]);
  if (known + existing === 0) return false;
  const batch = redis
    .multi()
    .del(...published)
    .srem(globalKeys.workspaces, namespace);
  return commit(batch, { what: 'workspace', namespace });
}

const encodeOwner = ({ namespace, name }: DeploymentName) => `${namespace}/${name}`;

export async function publishHost(redis: RedisClient, host: string, owner: DeploymentName): Promise<boolean> {
  const field = { key: globalKeys.hosts, field: host.toLowerCase(), value: encodeOwner(owner) };
  return writeField(redis, field, { what: 'hosts' });
}

/** Removes a host name, unless another deployment owns it by now. */
export async function removeHost(redis: RedisClient, host: string, owner: DeploymentName): Promise<boolean> {
  const field = host.toLowerCase();
  if ((await redis.hget(globalKeys.hosts, field)) !== encodeOwner(owner)) return false;
  return writeField(redis, { key: globalKeys.hosts, field, value: null }, { what: 'hosts' });
}

/** Replaces all host names exactly. */
export async function publishHosts(
  redis: RedisClient,
  hosts: ReadonlyMap<string, DeploymentName>,
): Promise<boolean> {
  const wanted = new Map([...hosts].map(([host, owner]) => [host.toLowerCase(), encodeOwner(owner)]));
  return replaceHash(redis, globalKeys.hosts, wanted, { what: 'hosts' });
}

/** Before a full publication, if there is no epoch. */
export async function beginEpoch(redis: RedisClient, epoch: string): Promise<void> {
  await redis.set(globalKeys.epochToBe, epoch);
}

/** After a full publication; throws if Redis lost data since `beginEpoch`, including what was published. */
export async function completeEpoch(redis: RedisClient): Promise<void> {
  await redis.rename(globalKeys.epochToBe, globalKeys.epoch).catch((error: Error) => {
    if (!/no such key/i.test(error.message)) throw error;
    throw new Error('Redis lost its data during publication', { cause: error });
  });
}

const encodeKey = ({ n, rpm, tpd, exp, off, pri, own, dep, bud }: PublishedKey) =>
  JSON.stringify({ n, rpm, tpd, exp, off, pri, own, dep, bud });
