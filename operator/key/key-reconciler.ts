/** Reconciles one APIKey: creates a key if none was given, publishes its hash, and reports its state. */
import type { APIKey } from '../../api/api-key.ts';
import type { BudgetStatus } from '../../api/budget-spec.ts';
import { generateApiKey, hashApiKey, hintApiKey } from '../../api/identity.ts';
import { API_KEY_SECRET_FIELD, apiKeySecretName } from '../../api/names.ts';
import { controllerOf, type KubeObject, splitKey } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { ensureSecret, ReadSecrets } from '../framework/ensure-secret.ts';
import { type ReconcileContext, Reconciler } from '../framework/reconciler.ts';
import { BudgetStates, type ReadBudget } from '../status/budget.ts';
import { ACCEPTED, type Verdict, verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import { stallOf } from '../status/readiness.ts';
import type { KeyStore } from './key-store.ts';

/** Timers are limited to 24.8 days. */
const MAX_WAIT_MS = 24 * 3_600_000;

interface Source {
  accepted: Verdict;
  sha256?: string;
  hint?: string | undefined;
  secretName?: string;
}

type CreatedKey = Pick<Source, 'hint'> & { sha256: string };

export type KeyContext = ReconcileContext & { keys: KeyStore; readBudget: ReadBudget };

export class KeyReconciler extends Reconciler<APIKey, KeyContext> {
  /** The keys that were created here. */
  readonly #created: ReadSecrets<CreatedKey>;
  readonly #budgets: BudgetStates;
  /** What each key was when its publication was asked for: budgets have it reconciled every minute. */
  readonly #marked = new Map<string, string>();

  constructor(context: KeyContext) {
    super(context, { resource: BERTH_RESOURCES.APIKey, cache: context.view.keys, store: context.keys });
    this.#created = new ReadSecrets(context.view.secrets);
    this.#budgets = new BudgetStates(context);
  }

  override reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { keys, view, publisher } = this.context;
    const sha256 = keys.hashOf(key);
    const { uid, generation } = view.keys.get(key)?.metadata ?? {};
    const edition = `${uid} ${generation} ${sha256}`;
    if (sha256 !== undefined && this.#marked.get(key) !== edition)
      publisher.mark({ what: 'apikeys', namespace: splitKey(key).namespace!, only: new Set([sha256]) });
    this.#marked.set(key, edition);
    return super.reconcile(key, signal);
  }

  protected async handleRemoval(key: string): Promise<Requeue> {
    const { namespace, name } = splitKey(key);
    this.#created.delete(`${namespace}/${apiKeySecretName(name)}`);
    this.#marked.delete(key);
    this.#budgets.forget(namespace!, { kind: 'key', name });
    return {};
  }

  protected async refuse(
    live: KubeObject,
    { reason, message }: Problem,
    signal: AbortSignal,
  ): Promise<Requeue> {
    await this.#write(live, { accepted: verdict('False', reason, message) }, undefined, signal);
    return {};
  }

  protected async sync(live: KubeObject, key: APIKey, signal: AbortSignal): Promise<Requeue> {
    // By the same clock that evaluates it, or one that expires during the write would never be reevaluated.
    const requeue = this.#untilExpiry(key);
    const source = await this.#resolve(live, key, signal);
    await this.#write(live, source, key, signal);
    return earliest(requeue.requeueAfterMs, key.spec.budget ? this.#budgets.nextMs() : undefined);
  }

  /** The key's source: its hash in the spec, or a Secret that is created here. */
  async #resolve(live: KubeObject, key: APIKey, signal: AbortSignal): Promise<Source> {
    const { client, record } = this.context;
    const { name } = key.metadata;
    const secretName = apiKeySecretName(name);
    if (key.spec.sha256 !== undefined) {
      if (key.status.secretName !== undefined) await this.#removeSecret(live, secretName, signal);
      return this.#claim(key, { accepted: ACCEPTED, sha256: key.spec.sha256, hint: key.spec.hint });
    }
    const secretKey = `${key.metadata.namespace}/${secretName}`;
    const known = this.#created.get(secretKey);
    if (known !== undefined) return { accepted: ACCEPTED, ...known, secretName };
    const wanted = { name: secretName, field: API_KEY_SECRET_FIELD, make: generateApiKey };
    const secret = await ensureSecret(client, live, wanted, signal);
    if (secret.outcome === 'foreign') {
      const message = `Secret ${secretName} does not belong to this APIKey: rename or delete it`;
      return { accepted: verdict('False', 'NotOwned', message) };
    }
    if (secret.outcome === 'made')
      record(live, { type: 'Normal', reason: 'KeyCreated', note: `created a key in Secret ${secretName}` });
    const created = { sha256: hashApiKey(secret.value), hint: hintApiKey(secret.value) };
    if (secret.outcome === 'found') this.#created.set(secretKey, secret.resourceVersion, created);
    return { accepted: ACCEPTED, ...created, secretName };
  }

  #claim({ metadata }: APIKey, source: Source): Source {
    const { name, namespace } = metadata;
    const owner = this.context.keys.owner(namespace, source.sha256!);
    if (owner === undefined || owner === `${namespace}/${name}`) return source;
    const message = `APIKey ${owner.split('/')[1]} is older and has the same spec.sha256: use another key or delete one of the two`;
    return { ...source, accepted: verdict('False', 'DuplicateKey', message) };
  }

  /** The Secret of a key that was created before: that key is no longer accepted. */
  async #removeSecret(live: KubeObject, name: string, signal: AbortSignal): Promise<void> {
    const { client } = this.context;
    const at = { name, namespace: live.metadata.namespace! };
    const secret = await client.find(RESOURCES.Secret, at, { signal });
    if (secret && controllerOf(secret)?.uid === live.metadata.uid)
      await client.delete(RESOURCES.Secret, at, { uid: secret.metadata.uid, signal });
  }

  #untilExpiry({ spec }: APIKey): Requeue {
    const left = spec.expiresAt === undefined ? 0 : Date.parse(spec.expiresAt) - this.context.now();
    return left > 0 ? { requeueAfterMs: Math.min(left, MAX_WAIT_MS) } : {};
  }

  async #findBudget({ metadata, spec, status }: APIKey): Promise<BudgetStatus | undefined> {
    const { namespace, name } = metadata;
    const holder = { kind: 'key', name } as const;
    return (
      spec.budget && this.#budgets.find(namespace, holder, { budget: spec.budget, known: status.budget })
    );
  }

  async #write(
    live: KubeObject,
    source: Source,
    key: APIKey | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { accepted, hint, secretName, sha256 } = source;
    const conditions = describeKey(accepted, key, this.context.now());
    const [condition, subject] =
      accepted.status === 'False'
        ? (['Accepted', accepted] as const)
        : (['Active', conditions.Active] as const);
    // An invalid spec says nothing of what was spent.
    const budget = key
      ? await this.#findBudget(key)
      : (live.status as Partial<APIKey['status']> | undefined)?.budget;
    await this.writeStatus(live, {
      conditions,
      fields: { hint, secretName, sha256, budget },
      event: subject.status === 'False' ? { condition, type: 'Warning' } : undefined,
      signal,
    });
  }
}

/** One that is disabled or expired, as its spec says, is ready, but not active. */
export function describeKey(accepted: Verdict, key: APIKey | undefined, now: number) {
  const active = evaluateActivity(accepted, key, now);
  const ready: Verdict = accepted.status === 'True' ? { ...active, status: 'True' } : accepted;
  return { Ready: ready, ...stallOf(accepted), Accepted: accepted, Active: active };
}

/** Whether requests with it are accepted. */
function evaluateActivity(accepted: Verdict, key: APIKey | undefined, now: number): Verdict {
  if (accepted.status !== 'True' || !key) return verdict('False', 'NotAccepted', accepted.message);
  const { disabled, expiresAt } = key.spec;
  if (disabled) return verdict('False', 'Disabled', 'spec.disabled is true');
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now)
    return verdict('False', 'Expired', `expired at ${expiresAt}`);
  return verdict('True', 'Active', 'requests with this key are accepted');
}
