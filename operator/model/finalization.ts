/** Deletion of a ModelDeployment: the front first, then the pods, then Redis, each within a time limit. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { FINALIZER } from '../../api/names.ts';
import { isNamespaceTerminating, isNotFound } from '../../kube/api-error.ts';
import { removeFinalizer } from '../../kube/finalizer.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { toMillis } from '../../kube/time.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import type { ModelContext } from './context.ts';
import { attachFront } from './front-attachment.ts';
import { removeFrontRoute } from './front-route.ts';
import { hurryUnserved } from './unserved-pods.ts';

/** Added to the drain time, for the cluster to notice. */
const SLACK_MS = 2 * 60_000;
/** If the spec is invalid. */
const MAX_DRAIN_MS = 35 * 60_000;
const REDIS_TIMEOUT_MS = 5 * 60_000;
const RECHECK_MS = 15_000;
const REDIS_RECHECK_MS = 2_000;

export interface LeavingModel {
  key: string;
  live: KubeObject;
  /** Undefined if the spec is invalid: it is removed anyway. */
  model: ModelDeployment | undefined;
  signal: AbortSignal;
  /** Writes the status while pods still exist. */
  report: () => Promise<void>;
}

export class Finalization {
  readonly #context: ModelContext;
  /** By key, when Redis was first found down. */
  readonly #redisAwaySince = new Map<string, number>();

  constructor(context: ModelContext) {
    this.#context = context;
  }

  /** One step towards the end; called again until the object is gone. */
  async advance(leaving: LeavingModel): Promise<Requeue> {
    const { key, live, signal } = leaving;
    if (!live.metadata.finalizers?.includes(FINALIZER)) return {};
    // First, so that no worker claims another request, and the sweeper cancels queued ones.
    this.#context.publisher.mark(deploymentTarget(nameOf(key)));
    const isLeftAlone = isOrphaning(live) || (await this.#isNamespaceLeaving(live, signal));
    const waiting = isLeftAlone ? 0 : await this.#removePods(leaving);
    if (waiting > 0) {
      await leaving.report();
      return { requeueAfterMs: Math.min(waiting, RECHECK_MS) };
    }
    await removeFrontRoute(this.#context, key, signal);
    this.#context.models.withdraw(key, live.metadata.uid!);
    if (!(await this.#leaveRedis(key, live))) return { requeueAfterMs: REDIS_RECHECK_MS };
    await removeFinalizer(this.#context.client, {
      resource: BERTH_RESOURCES.ModelDeployment,
      // It may have changed meanwhile.
      object: this.#context.view.models.get(key) ?? live,
      finalizer: FINALIZER,
      signal,
    });
    return {};
  }

  delete(key: string): void {
    this.#redisAwaySince.delete(key);
  }

  /** Starts terminating the pods and returns how long to wait; 0 once they are gone or the time is up. */
  async #removePods({ key, live, model, signal }: LeavingModel): Promise<number> {
    const { client, view, applier, record, now } = this.#context;
    try {
      await attachFront(this.#context, key, 'Serving', signal);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
      return 0;
    }
    const deployment = view.deployments.get(key);
    if (deployment && deployment.metadata.deletionTimestamp === undefined) {
      // The cache may show an owner that was just removed: `--cascade=orphan` keeps the object.
      const current = await client.find(RESOURCES.Deployment, deployment.metadata, { signal });
      if (current && !isChildOf(current, live)) return 0;
      if (current) await applier.remove(current, live, { signal });
    }
    await hurryUnserved(this.#context, key, signal);
    const pods = view.pods.byIndex(BY_MODEL, key);
    if (pods.length === 0 && !view.deployments.get(key)) return 0;
    const drainMs = model ? this.#context.build(model).drainTimeoutMs : MAX_DRAIN_MS;
    const left = toMillis(live.metadata.deletionTimestamp) + drainMs + SLACK_MS - now();
    if (left > 0) return left;
    const note = `${pods.length} pods are still running after the drain timeout; leaving them to the cluster`;
    record(live, { type: 'Warning', reason: 'DrainTimeout', note });
    return 0;
  }

  /** True if Redis no longer holds anything of it, or has been unavailable for too long to wait. */
  async #leaveRedis(key: string, live: KubeObject): Promise<boolean> {
    const { publisher, record, log, now } = this.#context;
    try {
      await publisher.publish(deploymentTarget(nameOf(key)));
      this.#redisAwaySince.delete(key);
      return true;
    } catch (error) {
      const since = this.#redisAwaySince.get(key) ?? now();
      this.#redisAwaySince.set(key, since);
      if (now() - since < REDIS_TIMEOUT_MS) return false;
      // Marked, so that it is removed when Redis is back; a restarted operator prunes it.
      publisher.mark(deploymentTarget(nameOf(key)));
      const note = `Redis is unavailable (${(error as Error).message}): this deployment's entries are removed later`;
      record(live, { type: 'Warning', reason: 'RedisCleanupPostponed', note });
      log.warn({ key }, note);
      return true;
    }
  }

  async #isNamespaceLeaving(live: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#context;
    try {
      const namespace = await client.get(RESOURCES.Namespace, { name: live.metadata.namespace! }, { signal });
      return namespace.metadata.deletionTimestamp !== undefined;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }
}

const nameOf = (key: string) => {
  const [namespace, name] = key.split('/') as [string, string];
  return { namespace, name };
};

/** Deleted with `--cascade=orphan`: its children stay, without an owner. */
const isOrphaning = ({ metadata }: KubeObject): boolean => metadata.finalizers?.includes('orphan') ?? false;

const isChildOf = (child: KubeObject, owner: KubeObject): boolean =>
  child.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
