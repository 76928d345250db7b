/** Tells the gateways of `make run` what the operator tells those of a cluster, by the same functions. */
import { hashApiKey, workspaceDataKey, workspacePrefix } from '../contract/identity.ts';
import { SIGNING_SECRET_FIELD } from '../contract/names.ts';
import { parseAmount } from '../contract/quantity.ts';
import type { PublishedEndpoint, PublishedKey } from '../contract/redis-keys.ts';
import { connectRedis, type RedisClient } from '../redis/client.ts';
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
import { deriveLocalKey, deriveLocalSigningSecret, LOOPBACK, type LocalPlan } from './local-plan.ts';
import type { Manifests } from './manifests.ts';

const REDIS_START_MS = 15_000;
/** The launcher's own keys are for tests and tools: no limit that these would meet. */
const LOCAL_RPM = 100_000;
const LOCAL_TPD = 1_000_000_000;

export interface LocalPublication {
  plan: LocalPlan;
  manifests: Manifests;
  masterKey: string;
  redis: Child;
  credentials: VerifiedCredential[];
}

/** Publishes configuration, workspaces and keys to a Redis that is starting. */
export async function publishLocal(publication: LocalPublication): Promise<void> {
  const { plan, manifests, masterKey } = publication;
  const connection = connectRedis({
    url: `redis://${LOOPBACK}:${plan.redisPort}`,
    name: 'launcher',
    role: 'local',
  });
  try {
    await connection.untilUp(REDIS_START_MS).catch((error: Error) => {
      throw new Error(`${error.message}; the end of its log:\n${readLogTail(publication.redis)}`);
    });
    const namespaces = new Set(plan.deployments.map(({ config }) => config.namespace));
    for (const namespace of namespaces) await publishNamespace(connection.redis, namespace, publication);
    await loadLibrary(connection.redis);
    await publishEpoch(connection.redis, masterKey.slice(0, 8));
  } finally {
    await connection.close();
  }

  async function publishNamespace(redis: RedisClient, namespace: string, { plan }: LocalPublication) {
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
        secret: findSigningSecret(manifests, namespace, masterKey),
        dataKey: workspaceDataKey(masterKey, namespace),
      },
    });
    await publishEndpoints(redis, namespace, listWebhooks(manifests, namespace));
    await publishApiKeys(redis, namespace, listKeys(manifests, namespace, masterKey));
    const credentials = publication.credentials.filter((credential) => credential.namespace === namespace);
    await publishCredentials(
      redis,
      namespace,
      credentials.map((credential) => sealCredential(credential, masterKey)),
    );
    await publishRequestPrefix(redis, workspacePrefix(masterKey, namespace));
  }
}

const findWorkspace = (manifests: Manifests, namespace: string) =>
  manifests.workspaces.find(({ metadata }) => metadata.namespace === namespace);

/** The one of the Secret that the Workspace names, where it is in the manifests. */
export function findSigningSecret(manifests: Manifests, namespace: string, masterKey: string): string {
  const wanted = findWorkspace(manifests, namespace)?.spec.signingSecret;
  const secret = manifests.secrets.find((each) => each.namespace === namespace && each.name === wanted);
  return secret?.texts[SIGNING_SECRET_FIELD] ?? deriveLocalSigningSecret(masterKey, namespace);
}

/** Their addresses are judged where they are dialled. */
function listWebhooks(manifests: Manifests, namespace: string): Map<string, PublishedEndpoint> {
  const own = manifests.webhookEndpoints.filter(({ metadata }) => metadata.namespace === namespace);
  return new Map(own.map(({ metadata, spec }) => [metadata.name, { v: 1, ...spec }]));
}

function findCredit(manifests: Manifests, namespace: string): number | null {
  const workspace = findWorkspace(manifests, namespace);
  return workspace?.spec.credit === undefined ? null : parseAmount(workspace.spec.credit);
}

function listKeys(manifests: Manifests, namespace: string, masterKey: string): Map<string, PublishedKey> {
  const keys = new Map<string, PublishedKey>();
  keys.set(hashApiKey(deriveLocalKey(masterKey, namespace)), {
    n: 'local',
    rpm: LOCAL_RPM,
    tpd: LOCAL_TPD,
    exp: 0,
    off: 0,
  });
  for (const { metadata, spec } of manifests.apiKeys) {
    if (metadata.namespace !== namespace || spec.sha256 === undefined) continue;
    const exp = spec.expiresAt === undefined ? 0 : Math.floor(Date.parse(spec.expiresAt) / 1000);
    keys.set(spec.sha256, {
      n: metadata.name,
      rpm: spec.rpm,
      tpd: spec.tpd,
      exp,
      off: spec.disabled ? 1 : 0,
    });
  }
  return keys;
}
