/** Reconciles one StorageCredential: seals and publishes its keys, has its bucket checked, and reports its state. */
import { workspaceDataKey } from '../../api/identity.ts';
import { ANNOTATIONS } from '../../api/names.ts';
import { configKeys, type PublishedCredential } from '../../api/redis-keys.ts';
import type { StorageCredential } from '../../api/storage-credential.ts';
import { openStorageKeys, type StorageKeys, sealStorageKeys } from '../../api/storage-keys.ts';
import { type KubeObject, objectKey, splitKey } from '../../kube/object.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { isRedisAway } from '../../redis/client.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { type CheckState, startExternalCheck } from '../framework/external-check.ts';
import { conditionsOf, type ReconcileContext, Reconciler } from '../framework/reconciler.ts';
import { ACCEPTED, findCondition, type Verdict, verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import { stallOf } from '../status/readiness.ts';
import { type BucketChecker, evaluateBucket, VERIFYING } from './bucket-check.ts';
import { type CredentialStore, credentialIdOf } from './credential-store.ts';
import { readStorageKeys } from './storage-keys.ts';

/** How often each Secret is read, since they are not watched. */
const SECRET_INTERVAL_MS = 60_000;
const PROBLEM_RECHECK_MS = 15_000;
const REDIS_RECHECK_MS = 5_000;

export type CredentialContext = ReconcileContext & {
  credentials: CredentialStore;
  /** What is published of a namespace; throws while Redis is unavailable. */
  readCredentials: (namespace: string) => Promise<PublishedCredential[]>;
  checkBucket: BucketChecker;
};

export class CredentialReconciler extends Reconciler<StorageCredential, CredentialContext> {
  /** By key, the bucket's check state for the published entry. */
  readonly #checks = new Map<string, { entry: PublishedCredential; state: CheckState; asked?: string }>();

  constructor(context: CredentialContext) {
    const { view, credentials } = context;
    super(context, {
      resource: BERTH_RESOURCES.StorageCredential,
      cache: view.credentials,
      store: credentials,
    });
  }

  protected async handleRemoval(key: string): Promise<Requeue> {
    this.#checks.delete(key);
    this.#settle(key, null);
    return {};
  }

  protected async refuse(live: KubeObject, problem: Problem, signal: AbortSignal): Promise<Requeue> {
    this.#settle(objectKey(live), null);
    await this.#reportRefusal(live, { problem, signal });
    return {};
  }

  protected async sync(
    live: KubeObject,
    credential: StorageCredential,
    signal: AbortSignal,
  ): Promise<Requeue> {
    const key = keyOf(credential);
    const conflict = this.#findConflict(credential);
    if (conflict) return await this.refuse(live, conflict, signal);
    const keys =
      this.#evaluateEndpoint(credential) ?? (await readStorageKeys(this.context.client, credential, signal));
    if ('reason' in keys) {
      // Published without keys, so that callers get "not verified" instead of "not found".
      this.#settle(key, { ...describe(credential), sealed: '', verified: false });
      await this.#reportRefusal(live, { problem: keys, credential, signal });
      return { requeueAfterMs: PROBLEM_RECHECK_MS };
    }
    try {
      return await this.#check(live, { credential, keys }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRedisAway(error)) throw error;
      await this.#postpone(live, credential, (error as Error).message, signal);
      return { requeueAfterMs: REDIS_RECHECK_MS };
    }
  }

  async #check(
    live: KubeObject,
    { credential, keys }: { credential: StorageCredential; keys: StorageKeys },
    signal: AbortSignal,
  ): Promise<Requeue> {
    const { publisher, checkBucket, now } = this.context;
    const { namespace } = credential.metadata;
    const key = keyOf(credential);
    const entry = await this.#seal(credential, keys);
    let state = this.#recall(key, entry, live);
    this.#settle(key, entry);
    const asked = credential.metadata.annotations?.[ANNOTATIONS.verify];
    if (now() >= state.dueAt || this.#isAsked(key, asked)) {
      // Nothing is reported for this spec yet; otherwise the last report stands until there is a result.
      if (findCondition(conditionsOf(live), 'Verified')?.observedGeneration !== live.metadata.generation)
        await this.#write(live, credential, { verified: VERIFYING, signal });
      await publisher.publish({ what: 'credentials', namespace });
      const answer = await checkBucket({ namespace, id: entry.id }, signal);
      state = evaluateBucket(state, answer, { bucket: entry.bucket, now: now(), random: Math.random() });
    }
    const evaluated = entry.verified === state.isPassed ? entry : { ...entry, verified: state.isPassed };
    this.#checks.set(key, { entry: evaluated, state, asked });
    this.#settle(key, evaluated);
    await this.#write(live, credential, { verified: state.verdict, signal });
    return { requeueAfterMs: Math.max(0, Math.min(SECRET_INTERVAL_MS, state.dueAt - now())) };
  }

  /** What is already published, if equivalent: sealing again would give a different text each time. */
  async #seal(credential: StorageCredential, keys: StorageKeys): Promise<PublishedCredential> {
    const { credentials, readCredentials, settings } = this.context;
    const { namespace, name } = credential.metadata;
    const wanted = describe(credential);
    const known =
      credentials.entry(keyOf(credential)) ??
      (await readCredentials(namespace)).find((published) => published.name === name);
    const place = { redisKey: configKeys(namespace).credentials, credentialId: wanted.id };
    const dataKey = workspaceDataKey(settings.masterKey, namespace);
    if (known && JSON.stringify({ ...known, sealed: '', verified: false }) === JSON.stringify(wanted)) {
      const old = openStorageKeys(known.sealed, place, dataKey);
      if (old?.accessKeyId === keys.accessKeyId && old.secretAccessKey === keys.secretAccessKey) return known;
    }
    return { ...wanted, sealed: sealStorageKeys(keys, place, dataKey) };
  }

  /** A check was requested now; earlier requests are unknown after a restart. */
  #isAsked(key: string, asked: string | undefined): boolean {
    const known = this.#checks.get(key);
    return known !== undefined && known.asked !== asked;
  }

  /** A different entry means a different bucket or key, which is unchecked. */
  #recall(key: string, entry: PublishedCredential, live: KubeObject): CheckState {
    const known = this.#checks.get(key);
    if (known?.entry === entry) return known.state;
    const reported = findCondition(conditionsOf(live), 'Verified');
    const passed =
      known === undefined && entry.verified && reported?.status === 'True' ? reported : undefined;
    return startExternalCheck(
      { passed, pending: VERIFYING },
      { now: this.context.now(), random: Math.random() },
    );
  }

  #findConflict(credential: StorageCredential): Problem | undefined {
    const id = credentialIdOf(credential);
    const owner = this.context.credentials.owner(credential.metadata.namespace, id);
    if (owner === undefined || owner === keyOf(credential)) return undefined;
    const message = `id ${id} belongs to StorageCredential ${owner.split('/')[1]}, which is older: recreate it with a different spec.id or name`;
    return { reason: 'IdConflict', message };
  }

  #evaluateEndpoint({ spec }: StorageCredential): Problem | undefined {
    if (!spec.endpoint?.startsWith('http:') || this.context.settings.egress.plainHTTP) return undefined;
    const message =
      "spec.endpoint must start with https://; http:// is allowed only for the installation's own addresses (egress.plainHTTP and egress.allow in the chart)";
    return { reason: 'EndpointNotAllowed', message };
  }

  async #reportRefusal(
    live: KubeObject,
    refusal: { problem: Problem; credential?: StorageCredential; signal: AbortSignal },
  ): Promise<void> {
    const { problem, credential, signal } = refusal;
    this.#checks.delete(objectKey(live));
    const accepted = verdict('False', problem.reason, problem.message);
    const verified = verdict('False', 'NotAccepted', `not checked: ${problem.message}`);
    await this.#write(live, credential, { accepted, verified, signal });
  }

  /** Without Redis no front has the keys: the last result stays in the status. */
  async #postpone(
    live: KubeObject,
    credential: StorageCredential,
    reason: string,
    signal: AbortSignal,
  ): Promise<void> {
    const reported = findCondition(conditionsOf(live), 'Verified');
    const away = verdict('Unknown', 'NotPublished', `not checked yet, Redis is unavailable: ${reason}`);
    const isOld = reported?.observedGeneration !== live.metadata.generation;
    await this.#write(live, credential, { verified: reported && !isOld ? reported : away, signal });
  }

  /** Which check request the verdict answers; unchanged until one is answered. */
  #findHandledVerify(
    credential: StorageCredential,
    live: KubeObject,
    { status }: Verdict,
  ): string | undefined {
    const asked = credential.metadata.annotations?.[ANNOTATIONS.verify];
    const { lastHandledVerify } = (live.status ?? {}) as Partial<StorageCredential['status']>;
    if (status === 'Unknown') return lastHandledVerify;
    const known = this.#checks.get(keyOf(credential));
    // Without a check the spec itself was refused, whatever was requested.
    return known === undefined || known.asked === asked ? asked : lastHandledVerify;
  }

  /** Marks it for publishing if it is new. */
  #settle(key: string, entry: PublishedCredential | null): void {
    const { credentials, publisher } = this.context;
    if (credentials.setEntry(key, entry))
      publisher.mark({ what: 'credentials', namespace: splitKey(key).namespace! });
  }

  async #write(
    live: KubeObject,
    credential: StorageCredential | undefined,
    report: { accepted?: Verdict; verified: Verdict; signal: AbortSignal },
  ): Promise<void> {
    const { accepted = ACCEPTED, verified, signal } = report;
    const [condition, subject] =
      accepted.status === 'False' ? (['Accepted', accepted] as const) : (['Verified', verified] as const);
    const isGood = subject.status === 'True' && subject.reason === 'Verified';
    await this.writeStatus(live, {
      conditions: { Ready: subject, ...stallOf(accepted), Accepted: accepted, Verified: verified },
      fields: {
        id: credential && credentialIdOf(credential),
        lastHandledVerify: credential && this.#findHandledVerify(credential, live, verified),
      },
      event: subject.status === 'Unknown' ? undefined : { condition, type: isGood ? 'Normal' : 'Warning' },
      signal,
    });
  }
}

const keyOf = ({ metadata }: StorageCredential): string => `${metadata.namespace}/${metadata.name}`;

/** As published, without its keys. */
function describe(credential: StorageCredential): PublishedCredential {
  const { metadata, spec } = credential;
  return {
    v: 1,
    id: credentialIdOf(credential),
    name: metadata.name,
    endpoint: spec.endpoint ?? null,
    region: spec.region,
    bucket: spec.bucket,
    prefix: spec.prefix,
    pathStyle: spec.pathStyle,
    sealed: '',
    verified: false,
  };
}
