/** Brings a namespace's Workspace to what its spec says: credit, signing secret, what is left to spend. */
import { randomBytes } from 'node:crypto';
import { workspaceRedisUser } from '../../contract/identity.ts';
import type { Condition } from '../../contract/kubernetes-types.ts';
import { SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../contract/names.ts';
import { formatAmount, parseAmount } from '../../contract/quantity.ts';
import { WORKSPACE_NAME, type Workspace, workspace } from '../../contract/workspace.ts';
import { isNamespaceTerminating } from '../kube/api-error.ts';
import type { KubeObject } from '../kube/object.ts';
import { RESOURCES } from '../kube/resource.ts';
import type { Requeue } from '../kube/work-queue.ts';
import { mergeConditions, type Verdict, verdict } from '../status/condition-list.ts';
import { BERTH_RESOURCES } from './cluster-view.ts';
import type { ReconcileContext } from './context.ts';
import { ensureSecret } from './made-secret.ts';
import { parseObject } from './parsing.ts';

/** Traffic changes what is left all the time; the status follows at most this often. */
const CREDIT_MS = 60_000;
const PROBLEM_RECHECK_MS = 15_000;

const makeSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`;

export type WorkspaceContext = ReconcileContext & {
  /** Millionths spent so far; throws while Redis is away. */
  readSpentMicros: (namespace: string) => Promise<number>;
};

export class WorkspaceReconciler {
  readonly #context: WorkspaceContext;
  /** What was left to spend when Redis was last asked, by namespace. */
  readonly #remaining = new Map<string, { text: string | undefined; credit: string; at: number }>();

  constructor(context: WorkspaceContext) {
    this.#context = context;
  }

  /** The key is a namespace: what belongs to it is published whether or not it has a Workspace. */
  async reconcile(namespace: string, signal: AbortSignal): Promise<Requeue> {
    const { view, publisher } = this.#context;
    publisher.mark({ what: 'workspace', namespace });
    const live = view.workspaces.get(`${namespace}/${WORKSPACE_NAME}`);
    if (!live || live.metadata.deletionTimestamp !== undefined) {
      this.#remaining.delete(namespace);
      return {};
    }
    const parsed = parseObject(workspace, live);
    if (!parsed.ok) {
      await this.#write(live, verdict('False', 'InvalidSpec', parsed.message), undefined, signal);
      return {};
    }
    try {
      const accepted = await this.#ensureSigningSecret(live, parsed.value, signal);
      const remaining = await this.#readRemaining(parsed.value);
      await this.#write(live, accepted, remaining, signal);
      if (accepted.status !== 'True') return { requeueAfterMs: PROBLEM_RECHECK_MS };
      return parsed.value.spec.credit === undefined ? {} : { requeueAfterMs: CREDIT_MS };
    } catch (error) {
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  async #ensureSigningSecret(live: KubeObject, { spec }: Workspace, signal: AbortSignal): Promise<Verdict> {
    const { client, record } = this.#context;
    if (spec.signingSecret !== undefined) {
      const at = { name: spec.signingSecret, namespace: live.metadata.namespace! };
      const given = await client.find(RESOURCES.Secret, at, { signal });
      if (given && SIGNING_SECRET_FIELD in ((given.data as object | undefined) ?? {})) return this.#accept();
      const message = `spec.signingSecret: Secret ${at.name} ${given ? `has no key ${SIGNING_SECRET_FIELD}` : 'does not exist'}`;
      return verdict('False', given ? 'SecretKeyNotFound' : 'SecretNotFound', message);
    }
    const wanted = { name: SIGNING_SECRET_NAME, field: SIGNING_SECRET_FIELD, make: makeSigningSecret };
    const secret = await ensureSecret(client, live, wanted, signal);
    if (secret.outcome === 'foreign')
      return verdict(
        'False',
        'NotOwned',
        `Secret ${SIGNING_SECRET_NAME} was made by someone else: name it in spec.signingSecret`,
      );
    if (secret.outcome === 'made')
      record(live, {
        type: 'Normal',
        reason: 'SigningSecretMade',
        note: `it is in Secret ${SIGNING_SECRET_NAME}`,
      });
    return this.#accept();
  }

  #accept(): Verdict {
    return this.#context.settings.redisUsers === 'off'
      ? verdict(
          'True',
          'SharedRedisUser',
          'all workspaces share one Redis user, so they are not kept apart there',
        )
      : verdict('True', 'Accepted', 'the spec is acted on');
  }

  /** Granted less spent, asked at most once a minute; the last answer while Redis is away. */
  async #readRemaining({ metadata, spec, status }: Workspace): Promise<string | undefined> {
    const { readSpentMicros, now } = this.#context;
    if (spec.credit === undefined) return undefined;
    const last = this.#remaining.get(metadata.namespace);
    if (last?.credit === spec.credit && now() - last.at < CREDIT_MS) return last.text;
    try {
      const left = parseAmount(spec.credit) - (await readSpentMicros(metadata.namespace));
      const text = formatAmount(Math.max(0, left));
      this.#remaining.set(metadata.namespace, { text, credit: spec.credit, at: now() });
      return text;
    } catch {
      return last?.text ?? status.creditRemaining;
    }
  }

  async #write(
    live: KubeObject,
    accepted: Verdict,
    remaining: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { statusWriter, settings, now } = this.#context;
    const before = ((live.status ?? {}) as { conditions?: Condition[] }).conditions ?? [];
    const generation = live.metadata.generation ?? 0;
    const ready = accepted.status === 'True' ? verdict('True', 'Ready', accepted.message) : accepted;
    const status = {
      observedGeneration: generation,
      creditRemaining: remaining,
      redisUser: settings.redisUsers === 'managed' ? workspaceRedisUser(live.metadata.namespace!) : undefined,
      conditions: mergeConditions(before, { Ready: ready, Accepted: accepted }, { generation, now: now() }),
    };
    await statusWriter.write(BERTH_RESOURCES.Workspace, live, { status, signal });
  }
}
