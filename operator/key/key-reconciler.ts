/** Brings one APIKey to what its spec says: a key made if none was given, its hash published, its state told. */
import type { APIKey } from '../../api/api-key.ts';
import { hashApiKey } from '../../api/identity.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import { API_KEY_SECRET_FIELD, apiKeySecretName } from '../../api/names.ts';
import { generateApiKey } from '../../api/token-format.ts';
import { isNamespaceTerminating } from '../../kube/api-error.ts';
import { controllerOf, type KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { BERTH_RESOURCES } from '../framework/cluster-view.ts';
import type { ReconcileContext } from '../framework/context.ts';
import { ensureSecret, ReadSecrets } from '../framework/ensure-secret.ts';
import { mergeConditions, type Verdict, verdict } from '../status/condition-list.ts';
import type { KeyIndex } from './key-store.ts';

const ACCEPTED = verdict('True', 'Accepted', 'the spec is acted on');
/** Timers hold 24.8 days at most. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

interface Source {
  accepted: Verdict;
  sha256?: string;
  secretName?: string;
}

export type KeyContext = ReconcileContext & { keys: KeyIndex };

export class ApiKeyReconciler {
  readonly #context: KeyContext;
  /** Hashes of the keys that were made here. */
  readonly #hashes: ReadSecrets<string>;

  constructor(context: KeyContext) {
    this.#context = context;
    this.#hashes = new ReadSecrets(context.view.secrets);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { view, keys, publisher } = this.#context;
    const [namespace] = key.split('/') as [string];
    publisher.mark({ what: 'apikeys', namespace });
    const live = view.keys.get(key);
    const parsed = keys.get(key);
    if (!live || !parsed || live.metadata.deletionTimestamp !== undefined) {
      this.#hashes.forget(`${namespace}/${apiKeySecretName(key.slice(namespace.length + 1))}`);
      return {};
    }
    if (!parsed.ok) {
      await this.#write(
        live,
        { accepted: verdict('False', 'InvalidSpec', parsed.message) },
        undefined,
        signal,
      );
      return {};
    }
    // By the same clock that judges it, or one that expires during the write would never be judged again.
    const requeue = this.#untilExpiry(parsed.value);
    try {
      const source = await this.#resolve(live, parsed.value, signal);
      await this.#write(live, source, parsed.value, signal);
      return requeue;
    } catch (error) {
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  /** Where the key comes from: its hash in the spec, or a Secret that is made here. */
  async #resolve(live: KubeObject, key: APIKey, signal: AbortSignal): Promise<Source> {
    const { client, record } = this.#context;
    const { name } = key.metadata;
    const secretName = apiKeySecretName(name);
    if (key.spec.sha256 !== undefined) {
      if (key.status.secretName !== undefined) await this.#removeSecret(live, secretName, signal);
      return this.#claim(key, { accepted: ACCEPTED, sha256: key.spec.sha256 });
    }
    const secretKey = `${key.metadata.namespace}/${secretName}`;
    const known = this.#hashes.get(secretKey);
    if (known !== undefined) return { accepted: ACCEPTED, sha256: known, secretName };
    const wanted = { name: secretName, field: API_KEY_SECRET_FIELD, make: generateApiKey };
    const secret = await ensureSecret(client, live, wanted, signal);
    if (secret.outcome === 'foreign') {
      const message = `Secret ${secretName} was made by someone else: rename or delete it`;
      return { accepted: verdict('False', 'NotOwned', message) };
    }
    if (secret.outcome === 'made')
      record(live, { type: 'Normal', reason: 'KeyMade', note: `a new key is in Secret ${secretName}` });
    const sha256 = hashApiKey(secret.value);
    if (secret.outcome === 'found') this.#hashes.set(secretKey, secret.resourceVersion, sha256);
    return { accepted: ACCEPTED, sha256, secretName };
  }

  #claim({ metadata }: APIKey, source: Source): Source {
    const { name, namespace } = metadata;
    const owner = this.#context.keys.owner(namespace, source.sha256!);
    if (owner === undefined || owner === `${namespace}/${name}`) return source;
    const message = `APIKey ${owner.split('/')[1]}, which is older, has the same spec.sha256`;
    return { ...source, accepted: verdict('False', 'DuplicateKey', message) };
  }

  /** A Secret of an earlier, made key: that key is no longer let in. */
  async #removeSecret(live: KubeObject, name: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#context;
    const at = { name, namespace: live.metadata.namespace! };
    const secret = await client.find(RESOURCES.Secret, at, { signal });
    if (secret && controllerOf(secret)?.uid === live.metadata.uid)
      await client.delete(RESOURCES.Secret, at, { uid: secret.metadata.uid, signal });
  }

  #untilExpiry({ spec }: APIKey): Requeue {
    const left = spec.expiresAt === undefined ? 0 : Date.parse(spec.expiresAt) - this.#context.now();
    return left > 0 ? { requeueAfterMs: Math.min(left, LONGEST_WAIT_MS) } : {};
  }

  async #write(
    live: KubeObject,
    source: Source,
    key: APIKey | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { statusWriter, record, now } = this.#context;
    const before = ((live.status ?? {}) as { conditions?: Condition[] }).conditions ?? [];
    const ready = source.accepted.status === 'True' && key ? judgeKey(key, now()) : source.accepted;
    const generation = live.metadata.generation ?? 0;
    const status = {
      observedGeneration: generation,
      secretName: source.secretName,
      sha256: source.sha256,
      conditions: mergeConditions(
        before,
        { Ready: ready, Accepted: source.accepted },
        { generation, now: now() },
      ),
    };
    const changed = await statusWriter.write(BERTH_RESOURCES.APIKey, live, { status, signal });
    const was = before.find(({ type }) => type === 'Ready')?.reason;
    if (changed && ready.status === 'False' && was !== ready.reason)
      record(live, { type: 'Warning', reason: ready.reason, note: ready.message });
  }
}

function judgeKey({ spec }: APIKey, now: number): Verdict {
  if (spec.disabled) return verdict('False', 'Disabled', 'spec.disabled is true');
  if (spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= now)
    return verdict('False', 'Expired', `expired at ${spec.expiresAt}`);
  return verdict('True', 'Ready', 'requests with this key are let in');
}
