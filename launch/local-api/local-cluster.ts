/** What stands for a cluster in `make run`: its objects, what the operator does with them, and the API to both. */
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../contract/names.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { LocalCredential, VerifiedCredential } from '../local-credentials.ts';
import { LOCAL_EGRESS } from '../local-gateway.ts';
import { deriveLocalKey, deriveLocalSigningSecret, LOOPBACK, type LocalPlan } from '../local-plan.ts';
import { findSigningSecrets } from '../local-publication.ts';
import type { Manifests } from '../manifests.ts';
import { startLocalAPI } from './local-api-server.ts';
import { LocalOperator } from './local-operator.ts';
import { ObjectStore } from './object-store.ts';
import {
  giveCredential,
  giveLocalKey,
  giveManifests,
  giveSecret,
  listManifests,
} from './stored-manifests.ts';

/** In the state folder: what was written, by `make key` and the console. */
const OBJECTS_FILE = 'objects.json';

export interface LocalClusterOptions {
  manifests: Manifests;
  /** Of the buckets that the launcher brings. */
  examples: readonly LocalCredential[];
  plan: LocalPlan;
  masterKey: string;
  token: string;
  redis: RedisClient;
  /** The state folder. */
  folder: string;
  /** What gateways were told has changed since the start: secrets, buckets that were verified. */
  onChange?: () => void;
}

export interface LocalCluster {
  port: number;
  listCredentials(): VerifiedCredential[];
  /** What is wrong with StorageCredentials. */
  listFaults(): { name: string; fault: string }[];
  /** What signs a namespace's webhooks now. */
  findSigningSecret(namespace: string): string;
  close(): Promise<void>;
}

/** Publishes everything, then serves the API. */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const { manifests, examples, plan, masterKey, token, redis, folder } = options;
  const store = new ObjectStore(join(folder, OBJECTS_FILE));
  giveManifests(store, manifests);
  for (const example of examples) giveCredential(store, example);
  const namespaces = [...new Set(plan.deployments.map(({ config }) => config.namespace))].sort();
  for (const namespace of namespaces) giveLocalKey(store, namespace, deriveLocalKey(masterKey, namespace));
  store.restore();
  for (const namespace of namespaces) {
    if (store.find('secrets', namespace, SIGNING_SECRET_NAME)) continue;
    const texts = { [SIGNING_SECRET_FIELD]: deriveLocalSigningSecret(masterKey, namespace) };
    giveSecret(store, { namespace, name: SIGNING_SECRET_NAME, texts });
  }
  let hasBegun = false;
  const onPublished = () => {
    if (hasBegun) options.onChange?.();
  };
  const operator = new LocalOperator({ store, redis, plan, masterKey, egress: LOCAL_EGRESS, onPublished });
  await operator.begin();
  hasBegun = true;
  const address = { host: LOOPBACK, port: plan.apiPort };
  const server = await startLocalAPI({ store, operator, namespaces, token, ...address });
  return {
    port: (server.address() as AddressInfo).port,
    listCredentials: () => operator.listCredentials(),
    listFaults: () => operator.listFaults(),
    findSigningSecret: (namespace) => findSigningSecrets(listManifests(store), namespace, masterKey).current,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await operator.close();
    },
  };
}
