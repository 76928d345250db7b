/** Why a deployment's host is not published, if it takes unusually long. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ModelContext } from './context.ts';

/** Publishing takes milliseconds; if it takes longer, the status shows why. */
const EXPLAIN_AFTER_MS = 10_000;
/** The publisher compares Redis with the cluster at the same interval. */
const RECHECK_MS = 10_000;

export interface Unpublished {
  /** Undefined: it is published, or should not be. */
  reason: string | undefined;
  recheckAfterMs: number | undefined;
}

type Context = Pick<ModelContext, 'models' | 'publisher' | 'now'>;

export class UnpublishedHosts {
  readonly #context: Context;
  /** Since when, in Unix milliseconds, each key waits for a host. */
  readonly #since = new Map<string, { host: string; at: number }>();

  constructor(context: Context) {
    this.#context = context;
  }

  evaluate(model: ModelDeployment): Unpublished {
    const { models, publisher, now } = this.#context;
    const key = `${model.metadata.namespace}/${model.metadata.name}`;
    const host = models.hostOf(model);
    if (host === undefined || publisher.publishedHost(model.metadata) === host) {
      this.#since.delete(key);
      return { reason: undefined, recheckAfterMs: undefined };
    }
    const known = this.#since.get(key);
    const since = known?.host === host ? known : { host, at: now() };
    this.#since.set(key, since);
    const waitedMs = now() - since.at;
    const cause = publisher.explain(model.metadata);
    // Once Redis recovers, everything is published, and waiting deployments are reconciled again.
    const recheckAfterMs = publisher.outage === undefined ? RECHECK_MS : undefined;
    if (publisher.outage !== undefined) return { reason: `not published yet: ${cause}`, recheckAfterMs };
    if (waitedMs < EXPLAIN_AFTER_MS) return { reason: 'the host is being published', recheckAfterMs };
    const why = cause ?? 'the cause is unknown';
    const reason = `host ${host} is not published after more than 10 s: ${why}; retrying every 10 s`;
    return { reason, recheckAfterMs };
  }

  delete(key: string): void {
    this.#since.delete(key);
  }
}
