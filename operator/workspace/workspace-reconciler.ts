/** Reconciles a namespace's Workspace: its credit, its signing secret, and its remaining credit. */

import { formatAmount, parseAmount } from '../../api/amount.ts';
import { workspaceRedisUser } from '../../api/identity.ts';
import { SIGNING_SECRET_NAME } from '../../api/names.ts';
import { joinSigningSecrets, type WorkspaceSecrets } from '../../api/signing-secret.ts';
import { WORKSPACE_NAME, type Workspace, workspace } from '../../api/workspace.ts';
import { type KubeObject, splitKey } from '../../kube/object.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { ReadSecrets } from '../framework/ensure-secret.ts';
import { parseObject } from '../framework/parsed-store.ts';
import { type ReconcileContext, Reconciler } from '../framework/reconciler.ts';
import type { ModelStore } from '../model/model-store.ts';
import { BudgetStates, type ReadBudget } from '../status/budget.ts';
import { ACCEPTED, type Verdict, verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import { stallOf } from '../status/readiness.ts';
import type { EndpointStore, SigningFaults } from '../webhook/endpoint-store.ts';
import { ensureSigningSecrets, type OwnSecrets, readNamedSecret } from './signing-secret.ts';

type OwnerStatus = NonNullable<Workspace['status']['owners']>[number];

/** Traffic changes the remaining credit all the time; the status follows at most this often. */
const CREDIT_INTERVAL_MS = 60_000;
const PROBLEM_RECHECK_MS = 15_000;

/** A Workspace's named Secret is not watched: a rolled one applies after this time. */
const NAMED_SECRET_INTERVAL_MS = 20_000;

export type WorkspaceContext = ReconcileContext & {
  models: Pick<ModelStore, 'hasMedia'>;
  endpoints: Pick<EndpointStore, 'has' | 'listOwnSecrets'>;
  /** Millionths spent so far; throws while Redis is unavailable. */
  readSpentMicros: (namespace: string) => Promise<number>;
  readBudget: ReadBudget;
  /** What signs each namespace's webhooks (`joinSigningSecrets`); null = nothing is available. */
  signingSecrets: Map<string, string | null>;
  signingFaults: SigningFaults;
};

export class WorkspaceReconciler extends Reconciler<Workspace, WorkspaceContext> {
  /** Remaining credit when Redis was last read, by namespace. */
  readonly #remaining = new Map<string, { text: string | undefined; credit: string; at: number }>();
  readonly #budgets: BudgetStates;
  /** The namespaces' own signing secrets, and for which endpoints they were read. */
  readonly #own: ReadSecrets<{
    secrets: WorkspaceSecrets;
    invalid: ReadonlyMap<string, string>;
    endpoints: string;
  }>;

  constructor(context: WorkspaceContext) {
    const cache = {
      // One that is being deleted no longer counts.
      get: (key: string) => {
        const live = context.view.workspaces.get(key);
        return live?.metadata.deletionTimestamp === undefined ? live : undefined;
      },
    };
    const parse = (live: KubeObject | undefined) => live && parseObject(workspace, live);
    super(context, {
      resource: BERTH_RESOURCES.Workspace,
      cache,
      store: { get: (key) => parse(cache.get(key)) },
    });
    this.#own = new ReadSecrets(context.view.secrets);
    this.#budgets = new BudgetStates(context);
  }

  /** The key is a namespace: its data is published whether or not it has a Workspace. */
  override reconcile(namespace: string, signal: AbortSignal): Promise<Requeue> {
    this.context.publisher.mark({ what: 'workspace', namespace });
    return super.reconcile(`${namespace}/${WORKSPACE_NAME}`, signal);
  }

  protected async handleRemoval(key: string, signal: AbortSignal): Promise<Requeue> {
    const namespace = splitKey(key).namespace!;
    this.#remaining.delete(namespace);
    this.#budgets.forget(namespace);
    await this.#provide(namespace, {}, signal);
    return {};
  }

  protected async refuse(
    live: KubeObject,
    { reason, message }: Problem,
    signal: AbortSignal,
  ): Promise<Requeue> {
    const { owners } = (live.status ?? {}) as Partial<Workspace['status']>;
    await this.#write(live, verdict('False', reason, message), { owners }, signal);
    return {};
  }

  protected async sync(live: KubeObject, parsed: Workspace, signal: AbortSignal): Promise<Requeue> {
    const given = { name: parsed.spec.signingSecret, isWanted: true };
    const secret = (await this.#provide(parsed.metadata.namespace, given, signal))!;
    if ('isNew' in secret && secret.isNew)
      this.context.record(live, {
        type: 'Normal',
        reason: 'SigningSecretCreated',
        note: `created the signing secret in Secret ${SIGNING_SECRET_NAME}`,
      });
    const accepted = 'problem' in secret ? secret.problem : this.#accept();
    const remaining = await this.#readRemaining(parsed);
    const owners = await this.#readOwners(parsed);
    await this.#write(live, accepted, { remaining, owners }, signal);
    if (accepted.status !== 'True') return { requeueAfterMs: PROBLEM_RECHECK_MS };
    if (given.name !== undefined) return { requeueAfterMs: NAMED_SECRET_INTERVAL_MS };
    const hasBudgets = parsed.spec.owners?.some(({ budget }) => budget) ?? false;
    return earliest(
      remaining === undefined ? undefined : CREDIT_INTERVAL_MS,
      hasBudgets ? this.#budgets.nextMs() : undefined,
    );
  }

  /** The secrets that sign this namespace's webhooks, passed to the publisher; undefined if nothing is signed. */
  async #provide(
    namespace: string,
    { name, isWanted }: { name?: string; isWanted?: boolean },
    signal: AbortSignal,
  ): Promise<OwnSecrets | undefined> {
    const { models, endpoints, signingSecrets, signingFaults, publisher } = this.context;
    if (!isWanted && !models.hasMedia(namespace) && !endpoints.has(namespace)) {
      signingSecrets.delete(namespace);
      signingFaults.delete(namespace);
      this.#own.delete(`${namespace}/${SIGNING_SECRET_NAME}`);
      return undefined;
    }
    const found = await this.#read(namespace, name, signal);
    const text = 'secrets' in found ? joinSigningSecrets(found.secrets) : null;
    if (signingSecrets.get(namespace) !== text) publisher.mark({ what: 'workspace', namespace });
    signingSecrets.set(namespace, text);
    if ('problem' in found) signingFaults.set(namespace, { all: found.problem.message });
    else signingFaults.set(namespace, { own: found.invalid });
    return found;
  }

  /** A Workspace's named Secret holds only its secret; those of endpoints are always in the namespace's own. */
  async #read(namespace: string, name: string | undefined, signal: AbortSignal): Promise<OwnSecrets> {
    if (name === undefined) return this.#ensureOwn(namespace, signal);
    const named = await readNamedSecret(this.context.client, { namespace, name }, signal);
    if ('problem' in named) return named;
    const { needed } = this.context.endpoints.listOwnSecrets(namespace);
    const own = needed.length > 0 ? await this.#ensureOwn(namespace, signal) : undefined;
    if (own && 'problem' in own) return own;
    const endpoints = own?.secrets.endpoints ?? new Map();
    const invalid = own?.invalid ?? new Map();
    return { secrets: { workspace: named.workspace, endpoints }, invalid, isNew: false };
  }

  /** The namespace's own, read again only when the watch shows another version of it, or other endpoints need one. */
  async #ensureOwn(namespace: string, signal: AbortSignal): Promise<OwnSecrets> {
    const key = `${namespace}/${SIGNING_SECRET_NAME}`;
    const { client, endpoints: store, view } = this.context;
    const isPartial = view.endpoints.unseen().includes(namespace);
    const names = { ...store.listOwnSecrets(namespace), isPartial };
    const endpoints = names.needed.join();
    const known = this.#own.get(key);
    if (known?.endpoints === endpoints)
      return { secrets: known.secrets, invalid: known.invalid, isNew: false };
    const found = await ensureSigningSecrets(client, { namespace, endpoints: names }, signal);
    if ('secrets' in found) {
      const { secrets, invalid, resourceVersion } = found;
      this.#own.set(key, resourceVersion, { secrets, invalid, endpoints });
    }
    return found;
  }

  #evaluateQueue(namespace: string): Verdict {
    const { publisher } = this.context;
    const refusal = publisher.refusalOf(namespace);
    if (refusal !== null) return verdict('False', 'QueueRefused', refusal);
    return publisher.warnings.length > 0
      ? verdict('True', 'RedisSettings', publisher.warnings.join(' '))
      : verdict('True', 'QueueOpen', 'images and videos can be queued');
  }

  #accept(): Verdict {
    return this.context.settings.redisUsers === 'off'
      ? verdict(
          'True',
          'SharedRedisUser',
          'all workspaces share one Redis user, so Redis does not isolate them',
        )
      : ACCEPTED;
  }

  /** Granted minus spent, read at most once a minute; the last value while Redis is down. */
  async #readRemaining({ metadata, spec, status }: Workspace): Promise<string | undefined> {
    const { readSpentMicros, now } = this.context;
    if (spec.credit === undefined) return undefined;
    const last = this.#remaining.get(metadata.namespace);
    if (last?.credit === spec.credit && now() - last.at < CREDIT_INTERVAL_MS) return last.text;
    try {
      const left = parseAmount(spec.credit) - (await readSpentMicros(metadata.namespace));
      const text = formatAmount(Math.max(0, left));
      this.#remaining.set(metadata.namespace, { text, credit: spec.credit, at: now() });
      return text;
    } catch {
      return last?.text ?? status.creditRemaining;
    }
  }

  /** undefined without budgets. */
  async #readOwners({ metadata, spec, status }: Workspace): Promise<OwnerStatus[] | undefined> {
    const read = await Promise.all(
      (spec.owners ?? []).map(async ({ name, budget }): Promise<OwnerStatus[]> => {
        if (!budget) return [];
        const known = status.owners?.find((each) => each.name === name);
        const holder = { kind: 'owner', name } as const;
        const found = await this.#budgets.find(metadata.namespace, holder, { budget, known });
        return found ? [{ ...found, name }] : [];
      }),
    );
    const owners = read.flat();
    return owners.length > 0 ? owners : undefined;
  }

  async #write(
    live: KubeObject,
    accepted: Verdict,
    { remaining, owners }: { remaining?: string | undefined; owners?: OwnerStatus[] | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const namespace = live.metadata.namespace!;
    const isManaged = this.context.settings.redisUsers === 'managed';
    const ready = accepted.status === 'True' ? verdict('True', 'Ready', accepted.message) : accepted;
    await this.writeStatus(live, {
      conditions: {
        Ready: ready,
        ...stallOf(accepted),
        Accepted: accepted,
        QueueOpen: this.#evaluateQueue(namespace),
      },
      fields: {
        creditRemaining: remaining,
        owners,
        redisUser: isManaged ? workspaceRedisUser(namespace) : undefined,
      },
      signal,
    });
  }
}
