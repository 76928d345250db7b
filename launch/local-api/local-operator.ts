/** What the operator does on a cluster, for the objects of `make run`: tells the gateways, and what became of each. */
import type { APIKey } from '../../contract/api-key.ts';
import { deriveId } from '../../contract/identity.ts';
import type { Condition } from '../../contract/kubernetes-types.ts';
import {
  ANNOTATIONS,
  API_KEY_SECRET_FIELD,
  apiKeySecretName,
  SIGNING_SECRET_FIELD,
  SIGNING_SECRET_NAME,
} from '../../contract/names.ts';
import { formatAmount, parseAmount } from '../../contract/quantity.ts';
import { makeApiKey, makeSigningSecret } from '../../contract/secret-texts.ts';
import type { StorageCredential } from '../../contract/storage-credential.ts';
import type { WebhookEndpoint } from '../../contract/webhook-endpoint.ts';
import type { Workspace } from '../../contract/workspace.ts';
import { EgressAgent, type EgressSettings } from '../../gateway/egress/agent.ts';
import { mergeConditions, verdict } from '../../operator/status/condition-list.ts';
import { readHeartbeats, readSpentMicros } from '../../redis/calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import {
  forgetEndpoint,
  readEndpointHealth,
  resetEndpointHealth,
  restoreEndpointHealth,
} from '../../redis/delivery-log.ts';
import { resolveCredential, type VerifiedCredential, verifyCredential } from '../local-credentials.ts';
import type { LocalPlan } from '../local-plan.ts';
import { publishNamespace } from '../local-publication.ts';
import { CheckedObjects } from './checked-objects.ts';
import {
  ACCEPTED,
  type Told,
  tellCredential,
  tellDeployment,
  tellEndpoint,
  tellKey,
} from './local-status.ts';
import type { ObjectStore } from './object-store.ts';
import type { LocalObject } from './resources.ts';
import { buildSecret, listManifests, readSecrets } from './stored-manifests.ts';

export interface LocalOperatorOptions {
  store: ObjectStore;
  redis: RedisClient;
  plan: LocalPlan;
  masterKey: string;
  egress: EgressSettings;
  /** Called whenever a namespace was published, before whoever wrote is answered. */
  onPublished: () => void;
}

export class LocalOperator {
  readonly #options: LocalOperatorOptions;
  readonly #agent: EgressAgent;
  readonly #endpoints: CheckedObjects;
  readonly #credentials: CheckedObjects;
  /** Conditions that were told last, by uid: their times stay while nothing changes. */
  readonly #told = new Map<string, Condition[]>();
  #publication = Promise.resolve();

  constructor(options: LocalOperatorOptions) {
    this.#options = options;
    this.#agent = new EgressAgent(options.egress);
    this.#endpoints = new CheckedObjects((object) => this.#checkURL(object as WebhookEndpoint));
    this.#credentials = new CheckedObjects((object) => this.#checkBucket(object as StorageCredential));
  }

  /** Makes the Secrets that are wanted, and checks and publishes all there is. */
  async begin(): Promise<void> {
    const { store, plan, redis } = this.#options;
    for (const { metadata } of store.list('webhookendpoints'))
      await restoreEndpointHealth(redis, metadata.namespace, metadata.name, {
        failures: 0,
        disabledAt: null,
      });
    const checks = [
      ...store.list('webhookendpoints').map((object) => this.#endpoints.check(object)),
      ...store.list('storagecredentials').map((object) => this.#credentials.check(object)),
    ];
    for (const key of store.list('apikeys')) this.#ensureKey(key);
    await Promise.all(checks);
    for (const namespace of new Set(plan.deployments.map(({ config }) => config.namespace)))
      await this.publish(namespace);
  }

  /** Acts on an object that was written; answers once gateways know of it. What has to be checked follows later. */
  async takeWritten(plural: string, object: LocalObject, before?: LocalObject): Promise<void> {
    const { namespace, name } = object.metadata;
    if (plural === 'apikeys') this.#ensureKey(object);
    if (plural === 'webhookendpoints') {
      if (isCountedAnew(object, before)) await resetEndpointHealth(this.#options.redis, namespace, name);
      this.#follow(this.#endpoints.check(object), namespace);
    }
    if (plural === 'storagecredentials') this.#follow(this.#credentials.check(object), namespace);
    if (plural === 'secrets')
      for (const credential of this.#options.store.list('storagecredentials', namespace))
        if ((credential.spec as StorageCredential['spec']).secret === name)
          this.#follow(this.#credentials.check(credential), namespace);
    await this.publish(namespace);
  }

  async takeRemoved(plural: string, object: LocalObject): Promise<void> {
    const { store, redis } = this.#options;
    const { namespace, name, uid } = object.metadata;
    this.#told.delete(uid);
    for (const secret of store.list('secrets', namespace))
      if (isOwnedBy(secret, uid)) store.remove('secrets', namespace, secret.metadata.name);
    // Whoever deletes it gets a new one.
    if (plural === 'secrets' && name === SIGNING_SECRET_NAME)
      store.create(
        'secrets',
        buildSecret({ namespace, name, texts: { [SIGNING_SECRET_FIELD]: makeSigningSecret() } }),
      );
    await this.publish(namespace);
    if (plural === 'webhookendpoints') await forgetEndpoint(redis, namespace, name);
  }

  /** The object with its status. */
  async describe(plural: string, object: LocalObject): Promise<LocalObject> {
    const told = await this.#tell(plural, object);
    if (!told) return object;
    const { uid, generation } = object.metadata;
    const stamp = { generation, now: Date.now() };
    const conditions = mergeConditions(this.#told.get(uid) ?? [], told.verdicts, stamp);
    this.#told.set(uid, conditions);
    return { ...object, status: { observedGeneration: generation, ...told.fields, conditions } };
  }

  /** What is wrong with StorageCredentials. */
  listFaults(): { name: string; fault: string }[] {
    return this.#options.store.list('storagecredentials').flatMap((object) => {
      const fault = this.#credentials.readFault(object);
      return typeof fault === 'string' ? [{ name: object.metadata.name, fault }] : [];
    });
  }

  /** Those whose keys are to be had. */
  listCredentials(): VerifiedCredential[] {
    const { store } = this.#options;
    return listManifests(store).storageCredentials.flatMap((credential) => {
      const known = tryResolve(credential, store);
      if (typeof known === 'string') return [];
      const fault = this.#credentials.readFault(credential);
      return [{ ...known, fault: fault === undefined ? 'is not verified yet' : fault }];
    });
  }

  /** One after the other, so that an older state never comes last. */
  publish(namespace: string): Promise<void> {
    const next = this.#publication.then(() => this.#publish(namespace));
    this.#publication = next.catch(() => undefined);
    return next;
  }

  async close(): Promise<void> {
    await this.#publication;
    await this.#agent.close();
  }

  async #publish(namespace: string): Promise<void> {
    const { store, redis, plan, masterKey, onPublished } = this.#options;
    const all = listManifests(store);
    const isUsable = (endpoint: WebhookEndpoint) => this.#endpoints.readFault(endpoint) === null;
    const manifests = { ...all, webhookEndpoints: all.webhookEndpoints.filter(isUsable) };
    const credentials = this.listCredentials().filter((credential) => credential.namespace === namespace);
    await publishNamespace(redis, namespace, { plan, manifests, masterKey, credentials });
    onPublished();
  }

  async #tell(plural: string, object: LocalObject): Promise<Told | null> {
    const { redis, plan, store } = this.#options;
    const { namespace, name } = object.metadata;
    switch (plural) {
      case 'apikeys':
        return tellKey(
          object as APIKey,
          store.find('secrets', namespace, apiKeySecretName(name)),
          Date.now(),
        );
      case 'workspaces':
        return this.#tellWorkspace(object as Workspace);
      case 'modeldeployments': {
        const planned = plan.deployments.find(
          ({ config }) => config.namespace === namespace && config.name === name,
        )!;
        return tellDeployment(planned, await readHeartbeats(redis, namespace, name));
      }
      case 'webhookendpoints': {
        this.#recheck(this.#endpoints, object);
        const health = await readEndpointHealth(redis, namespace, name);
        return tellEndpoint(object as WebhookEndpoint, this.#endpoints.readFault(object), health);
      }
      case 'storagecredentials': {
        this.#recheck(this.#credentials, object);
        const { spec } = object as StorageCredential;
        const id = spec.id ?? deriveId('StorageCredential', namespace, name);
        return tellCredential(
          { id, lastHandledVerify: this.#credentials.readVerify(object) },
          this.#credentials.readFault(object),
        );
      }
      default:
        return null;
    }
  }

  async #tellWorkspace({ metadata, spec }: Workspace): Promise<Told> {
    const verdicts = { Ready: verdict('True', 'Ready', 'the gateways know it'), Accepted: ACCEPTED };
    if (spec.credit === undefined) return { verdicts, fields: {} };
    const left = parseAmount(spec.credit) - (await readSpentMicros(this.#options.redis, metadata.namespace));
    return { verdicts, fields: { creditRemaining: formatAmount(Math.max(0, left)) } };
  }

  async #checkURL({ spec }: WebhookEndpoint): Promise<string | null> {
    try {
      await this.#agent.check(spec.url);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async #checkBucket(credential: StorageCredential): Promise<string | null> {
    const known = tryResolve(credential, this.#options.store);
    if (typeof known === 'string') return known;
    return (await verifyCredential(known, this.#options.egress)).fault;
  }

  /** What was wrong a while ago is looked at again by who reads it. */
  #recheck(checked: CheckedObjects, object: LocalObject): void {
    if (checked.isStale(object, Date.now())) this.#follow(checked.check(object), object.metadata.namespace);
  }

  #follow(check: Promise<void>, namespace: string): void {
    check
      .then(() => this.publish(namespace))
      .catch((error: Error) => console.error(`publishing ${namespace}: ${error.message}`));
  }

  /** A key whose hash is not given is made here. */
  #ensureKey({ apiVersion, kind, metadata: { namespace, name, uid }, spec }: LocalObject): void {
    const { store } = this.#options;
    const secretName = apiKeySecretName(name);
    if ((spec as APIKey['spec']).sha256 || store.find('secrets', namespace, secretName)) return;
    const texts = { [API_KEY_SECRET_FIELD]: makeApiKey() };
    const secret = buildSecret({ namespace, name: secretName, texts });
    const ownerReferences = [{ apiVersion, kind, name, uid }];
    store.create('secrets', { ...secret, metadata: { ...secret.metadata, ownerReferences } });
  }
}

const isOwnedBy = ({ metadata }: LocalObject, uid: string): boolean =>
  ((metadata.ownerReferences ?? []) as { uid?: string }[]).some((owner) => owner.uid === uid);

/** What the credential is, or why its keys are not to be had. */
function tryResolve(credential: StorageCredential, store: ObjectStore) {
  try {
    return resolveCredential(credential, readSecrets(store));
  } catch (error) {
    return (error as Error).message;
  }
}

/** Another address, or a wish for it, begins the count of failures anew. */
function isCountedAnew(object: LocalObject, before: LocalObject | undefined): boolean {
  const describe = ({ spec, metadata }: LocalObject) => {
    const { url, enabled } = spec as WebhookEndpoint['spec'];
    return JSON.stringify([url, enabled, metadata.annotations?.[ANNOTATIONS.reEnable] ?? '']);
  };
  return before === undefined || describe(object) !== describe(before);
}
