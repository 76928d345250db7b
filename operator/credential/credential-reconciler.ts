/** Brings one StorageCredential to what its spec says: keys sealed and published, the bucket tried, its state told. */
import { workspaceDataKey } from '../../api/identity.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../api/names.ts';
import { configKeys, type PublishedCredential } from '../../api/redis-keys.ts';
import type { StorageCredential } from '../../api/storage-credential.ts';
import { openStorageKeys, type StorageKeys, sealStorageKeys } from '../../api/storage-keys.ts';
import { isNamespaceTerminating } from '../../kube/api-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { isRedisAway } from '../../redis/client.ts';
import { BERTH_RESOURCES } from '../framework/cluster-view.ts';
import type { ReconcileContext } from '../framework/context.ts';
import { findCondition, mergeConditions, type Verdict, verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import { type CheckState, judgeCheck, VERIFYING } from './bucket-check.ts';
import { type CredentialIndex, credentialIdOf } from './credential-store.ts';
import { readStorageKeys } from './storage-keys.ts';
import type { StorageVerifier } from './storage-verifier.ts';

/** Secrets are not watched: how often each is looked at. */
const SECRET_MS = 60_000;
const PROBLEM_RECHECK_MS = 15_000;
const REDIS_RECHECK_MS = 5_000;
/** After a restart: what worked before is tried again some time within it. */
const RESTART_SPREAD_MS = 3_600_000;

const ACCEPTED = verdict('True', 'Accepted', 'the spec is acted on');

export type CredentialContext = ReconcileContext & {
  credentials: CredentialIndex;
  /** What is published of a namespace; throws while Redis is away. */
  readCredentials: (namespace: string) => Promise<PublishedCredential[]>;
  verifyStorage: StorageVerifier;
};

export class CredentialReconciler {
  readonly #context: CredentialContext;
  /** By key, what is known of the bucket with the entry that is published now. */
  readonly #checks = new Map<string, { entry: PublishedCredential; state: CheckState; asked?: string }>();

  constructor(context: CredentialContext) {
    this.#context = context;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { view, credentials } = this.#context;
    const live = view.credentials.get(key);
    const parsed = credentials.get(key);
    if (!live || !parsed || live.metadata.deletionTimestamp !== undefined) {
      this.#checks.delete(key);
      this.#settle(key, null);
      return {};
    }
    try {
      if (parsed.ok) return await this.#bring(live, parsed.value, signal);
      this.#settle(key, null);
      await this.#refuse(live, { reason: 'InvalidSpec', message: parsed.message }, signal);
      return {};
    } catch (error) {
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  async #bring(live: KubeObject, credential: StorageCredential, signal: AbortSignal): Promise<Requeue> {
    const key = keyOf(credential);
    const conflict = this.#findConflict(credential);
    if (conflict) {
      this.#settle(key, null);
      await this.#refuse(live, conflict, signal);
      return {};
    }
    const keys =
      this.#judgeEndpoint(credential) ?? (await readStorageKeys(this.#context.client, credential, signal));
    if ('reason' in keys) {
      // Published without keys, so that callers read "not verified" in place of "not found".
      this.#settle(key, { ...describe(credential), sealed: '', verified: false });
      await this.#refuse(live, keys, signal, credential);
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
    const { publisher, verifyStorage, now } = this.#context;
    const { namespace } = credential.metadata;
    const key = keyOf(credential);
    const entry = await this.#seal(credential, keys);
    let state = this.#recall(key, entry, live);
    this.#settle(key, entry);
    const asked = credential.metadata.annotations?.[ANNOTATIONS.verify];
    if (now() >= state.dueAt || this.#isAsked(key, asked)) {
      // Of this spec nothing is told yet; else what was told stands until the answer comes.
      if (findCondition(conditionsOf(live), 'Verified')?.observedGeneration !== live.metadata.generation)
        await this.#write(live, credential, { verified: VERIFYING, signal });
      await publisher.publish({ what: 'credentials', namespace });
      const answer = await verifyStorage({ namespace, id: entry.id }, signal);
      const checked = { bucket: entry.bucket, now: now(), random: Math.random() };
      state = judgeCheck(state, answer, checked);
    }
    const judged = entry.verified === state.verified ? entry : { ...entry, verified: state.verified };
    this.#checks.set(key, { entry: judged, state, asked });
    this.#settle(key, judged);
    await this.#write(live, credential, { verified: state.verdict, signal });
    return { requeueAfterMs: Math.max(0, Math.min(SECRET_MS, state.dueAt - now())) };
  }

  /** What is published already where it says the same, since sealing anew gives another text each time. */
  async #seal(credential: StorageCredential, keys: StorageKeys): Promise<PublishedCredential> {
    const { credentials, readCredentials, settings } = this.#context;
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

  /** Somebody wants the bucket tried now; after a restart, what was asked for before is not known. */
  #isAsked(key: string, asked: string | undefined): boolean {
    const known = this.#checks.get(key);
    return known !== undefined && known.asked !== asked;
  }

  /** Another entry is another bucket or another key to it: nothing is known of it yet. */
  #recall(key: string, entry: PublishedCredential, live: KubeObject): CheckState {
    const { now } = this.#context;
    const known = this.#checks.get(key);
    if (known?.entry === entry) return known.state;
    const told = findCondition(conditionsOf(live), 'Verified');
    const worked = known === undefined && entry.verified && told?.status === 'True';
    return {
      failures: 0,
      dueAt: worked ? now() + RESTART_SPREAD_MS * Math.random() : now(),
      verified: worked,
      verdict: worked ? told : VERIFYING,
    };
  }

  #findConflict(credential: StorageCredential): Problem | undefined {
    const id = credentialIdOf(credential);
    const owner = this.#context.credentials.owner(credential.metadata.namespace, id);
    if (owner === undefined || owner === keyOf(credential)) return undefined;
    const message = `id ${id} belongs to StorageCredential ${owner.split('/')[1]}, which is older: make this one anew with another spec.id or name`;
    return { reason: 'IdConflict', message };
  }

  #judgeEndpoint({ spec }: StorageCredential): Problem | undefined {
    if (!spec.endpoint?.startsWith('http:') || this.#context.settings.egress.plainHTTP) return undefined;
    const message =
      "spec.endpoint must begin with https://; http:// is only for addresses of the installation's own (egress.plainHTTP and egress.allow of the chart)";
    return { reason: 'EndpointNotAllowed', message };
  }

  async #refuse(
    live: KubeObject,
    problem: Problem,
    signal: AbortSignal,
    credential?: StorageCredential,
  ): Promise<void> {
    this.#checks.delete(`${live.metadata.namespace}/${live.metadata.name}`);
    const accepted = verdict('False', problem.reason, problem.message);
    const verified = verdict('False', 'NotAccepted', `nothing was tried: ${problem.message}`);
    await this.#write(live, credential, { accepted, verified, signal });
  }

  /** Without Redis no front knows the keys: what was found before goes on being told. */
  async #postpone(
    live: KubeObject,
    credential: StorageCredential,
    trouble: string,
    signal: AbortSignal,
  ): Promise<void> {
    const told = findCondition(conditionsOf(live), 'Verified');
    const away = verdict('Unknown', 'NotPublished', `not tried yet, Redis is away: ${trouble}`);
    const isOld = told?.observedGeneration !== live.metadata.generation;
    await this.#write(live, credential, { verified: told && !isOld ? told : away, signal });
  }

  /** Which request for a check the verdict answers; as before while none is answered. */
  #findHandledVerify(
    credential: StorageCredential,
    live: KubeObject,
    { status }: Verdict,
  ): string | undefined {
    const asked = credential.metadata.annotations?.[ANNOTATIONS.verify];
    const { lastHandledVerify } = (live.status ?? {}) as Partial<StorageCredential['status']>;
    if (status === 'Unknown') return lastHandledVerify;
    const known = this.#checks.get(keyOf(credential));
    // Without a check the spec itself was refused, whatever was asked for.
    return known === undefined || known.asked === asked ? asked : lastHandledVerify;
  }

  /** Marks what is to be published, if that is new. */
  #settle(key: string, entry: PublishedCredential | null): void {
    const { credentials, publisher } = this.#context;
    const before = credentials.entry(key);
    if (before === entry || (before && entry && JSON.stringify(before) === JSON.stringify(entry))) return;
    credentials.settle(key, entry);
    publisher.mark({ what: 'credentials', namespace: key.split('/')[0]! });
  }

  async #write(
    live: KubeObject,
    credential: StorageCredential | undefined,
    told: { accepted?: Verdict; verified: Verdict; signal: AbortSignal },
  ): Promise<void> {
    const { statusWriter, record, now } = this.#context;
    const { accepted = ACCEPTED, verified, signal } = told;
    const before = conditionsOf(live);
    const generation = live.metadata.generation ?? 0;
    const conditions = mergeConditions(
      before,
      { Accepted: accepted, Verified: verified },
      { generation, now: now() },
    );
    const id = credential && credentialIdOf(credential);
    const lastHandledVerify = credential && this.#findHandledVerify(credential, live, verified);
    const status = { observedGeneration: generation, id, lastHandledVerify, conditions };
    const changed = await statusWriter.write(BERTH_RESOURCES.StorageCredential, live, { status, signal });
    const event = accepted.status === 'False' ? accepted : verified;
    const was = findCondition(before, event === accepted ? 'Accepted' : 'Verified');
    if (!changed || event.status === 'Unknown' || was?.reason === event.reason) return;
    const type = event.status === 'True' && event.reason === 'Verified' ? 'Normal' : 'Warning';
    record(live, { type, reason: event.reason, note: event.message });
  }
}

const keyOf = ({ metadata }: StorageCredential): string => `${metadata.namespace}/${metadata.name}`;

const conditionsOf = (live: KubeObject): Condition[] =>
  ((live.status ?? {}) as { conditions?: Condition[] }).conditions ?? [];

/** As it is published, but for its keys. */
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
