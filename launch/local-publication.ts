/** Tells the gateways of `make run` what the operator tells those of a cluster, by the same functions. */
import { hashApiKey, workspaceDataKey, workspacePrefix } from '../contract/identity.ts';
import { API_KEY_SECRET_FIELD, apiKeySecretName, SIGNING_SECRET_NAME } from '../contract/names.ts';
import { parseAmount } from '../contract/quantity.ts';
import type { PublishedEndpoint, PublishedKey } from '../contract/redis-keys.ts';
import { joinSigningSecrets, readSigningSecrets, type SigningSecrets } from '../contract/signing-secret.ts';
import { connectRedis, type RedisClient, type RedisConnection } from '../redis/client.ts';
import { loadLibrary } from '../redis/library.ts';
import {
  publishApiKeys,
  publishCredentials,
  publishDeployment,
  publishEndpoints,
  publishEpoch,
  publishRequestPrefix,
  publishWorkspace,
  removeDeployment,
} from '../redis/publication.ts';
import { readDeployments } from '../redis/published.ts';
import { type Child, readLogTail } from './child-process.ts';
import { sealCredential, type VerifiedCredential } from './local-credentials.ts';
import { deriveLocalSigningSecret, type LocalPlan } from './local-plan.ts';
import type { Manifests, Secret } from './manifests.ts';

const REDIS_START_MS = 15_000;

export interface LocalPublication {
  plan: LocalPlan;
  manifests: Manifests;
  masterKey: string;
  /** Of the namespace. */
  credentials: VerifiedCredential[];
}

/** Connects to a Redis that is starting. */
export async function connectLocalRedis(url: string, redis: Child): Promise<RedisConnection> {
  const connection = connectRedis({ url, name: 'launcher', role: 'local' });
  try {
    await connection.untilUp(REDIS_START_MS);
    return connection;
  } catch (error) {
    await connection.close();
    throw new Error(`${(error as Error).message}; the end of its log:\n${readLogTail(redis)}`);
  }
}

/** Once all namespaces are published: gateways may serve. */
export async function endPublication(redis: RedisClient, masterKey: string): Promise<void> {
  await loadLibrary(redis);
  await publishEpoch(redis, masterKey.slice(0, 8));
}

/** Publishes a namespace's configuration, workspace, keys, endpoints and credentials, exactly as they are now. */
export async function publishNamespace(
  redis: RedisClient,
  namespace: string,
  { plan, manifests, masterKey, credentials }: LocalPublication,
): Promise<void> {
  const configs = plan.deployments
    .map(({ config }) => config)
    .filter((config) => config.namespace === namespace);
  const names = new Set(configs.map(({ name }) => name));
  for (const [name] of await readDeployments(redis, namespace))
    if (!names.has(name)) await removeDeployment(redis, namespace, name);
  for (const config of configs) await publishDeployment(redis, config);
  await publishWorkspace(redis, namespace, {
    creditMicros: findCredit(manifests, namespace),
    ownerEmail: findWorkspace(manifests, namespace)?.spec.ownerEmail ?? null,
    signingSecret: {
      secret: joinSigningSecrets(findSigningSecrets(manifests, namespace, masterKey)),
      dataKey: workspaceDataKey(masterKey, namespace),
    },
  });
  await publishEndpoints(redis, namespace, listWebhooks(manifests, namespace));
  await publishApiKeys(redis, namespace, listKeys(manifests, namespace));
  const sealed = credentials.map((credential) => sealCredential(credential, masterKey));
  await publishCredentials(redis, namespace, sealed);
  await publishRequestPrefix(redis, workspacePrefix(masterKey, namespace));
}

const findWorkspace = (manifests: Manifests, namespace: string) =>
  manifests.workspaces.find(({ metadata }) => metadata.namespace === namespace);

const findText = (
  { secrets }: Manifests,
  { namespace, name }: Pick<Secret, 'namespace' | 'name'>,
  field: string,
): string | undefined =>
  secrets.find((secret) => secret.namespace === namespace && secret.name === name)?.texts[field];

/** The one of the Secret that the Workspace names, or of the namespace's own; derived where there is none. */
export function findSigningSecrets(
  manifests: Manifests,
  namespace: string,
  masterKey: string,
): SigningSecrets {
  const name = findWorkspace(manifests, namespace)?.spec.signingSecret ?? SIGNING_SECRET_NAME;
  const secret = manifests.secrets.find((each) => each.namespace === namespace && each.name === name);
  return (
    readSigningSecrets(secret?.texts ?? {}) ?? {
      current: deriveLocalSigningSecret(masterKey, namespace),
      previous: null,
    }
  );
}

function listWebhooks(manifests: Manifests, namespace: string): Map<string, PublishedEndpoint> {
  const own = manifests.webhookEndpoints.filter(({ metadata }) => metadata.namespace === namespace);
  return new Map(own.map(({ metadata, spec }) => [metadata.name, { v: 1, ...spec }]));
}

function findCredit(manifests: Manifests, namespace: string): number | null {
  const workspace = findWorkspace(manifests, namespace);
  return workspace?.spec.credit === undefined ? null : parseAmount(workspace.spec.credit);
}

function listKeys(manifests: Manifests, namespace: string): Map<string, PublishedKey> {
  const keys = new Map<string, PublishedKey>();
  for (const { metadata, spec } of manifests.apiKeys) {
    if (metadata.namespace !== namespace) continue;
    const made = findText(
      manifests,
      { namespace, name: apiKeySecretName(metadata.name) },
      API_KEY_SECRET_FIELD,
    );
    const sha256 = spec.sha256 ?? (made && hashApiKey(made));
    if (!sha256) continue;
    const exp = spec.expiresAt === undefined ? 0 : Math.floor(Date.parse(spec.expiresAt) / 1000);
    keys.set(sha256, {
      n: metadata.name,
      rpm: spec.rpm,
      tpd: spec.tpd,
      exp,
      off: spec.disabled ? 1 : 0,
    });
  }
  return keys;
}
