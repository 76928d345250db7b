/** Derives the status of a ModelDeployment, writes it, and records what changed. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { podSelector } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import { formatSelector, type KubeObject, type Wire } from '../../kube/object.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import { FRONT_RETRY_MS } from '../fit/fits.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { BY_MODEL, listDraining } from '../framework/cluster-view.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import { NOT_LOOKED_UP, type Verdict } from '../status/condition-list.ts';
import { deriveStatus } from '../status/model-deployment.ts';
import { countBriefMs, findObstacle } from '../status/obstacle.ts';
import { isQueued, WAITING_FOR_QUOTA } from '../status/placement.ts';
import type { Problem } from '../status/problem.ts';
import { describeTransitions } from '../status/transitions.ts';
import type { ModelContext } from './context.ts';
import { findWatchedDeployment } from './live-deployment.ts';
import { registrationIdOf } from './model-store.ts';
import type { BuiltFacts } from './settled.ts';
import { evaluateStorage } from './storage-state.ts';
import { evaluateTraffic } from './traffic.ts';
import { type Unpublished, UnpublishedHosts } from './unpublished-hosts.ts';

/** While pods have no node. */
const WAIT_RECHECK_MS = 30_000;

export class StatusReport {
  readonly #context: ModelContext;
  readonly #unpublished: UnpublishedHosts;

  constructor(context: ModelContext) {
    this.#context = context;
    this.#unpublished = new UnpublishedHosts(context);
  }

  /** Writes the status if it differs. */
  async report(work: {
    live: KubeObject;
    model: ModelDeployment;
    built: BuiltFacts;
    /** Used where the watch has none, or a stub. */
    deployment?: Wire<V1Deployment> | undefined;
    problems: readonly Problem[];
    acceptance?: Verdict | undefined;
    signal: AbortSignal;
  }): Promise<Requeue & { isPublished: boolean }> {
    const { live, model, built, problems, signal } = work;
    const { view, settings, sidecars, scaler, fits, models, publisher, now } = this.#context;
    const { quotaReasons, evictions } = this.#context;
    const { name, namespace } = model.metadata;
    const key = `${namespace}/${name}`;
    const unpublished = this.#unpublished.evaluate(model);
    const fit = fits.evaluate(model);
    const isFitOpen = fit === 'Pending' || fit?.reason === NOT_LOOKED_UP;
    const deployment = findWatchedDeployment(this.#context, key) ?? work.deployment;
    const pods = view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
    const queued = pods.find((pod) => isQueued(pod) && !pod.metadata?.deletionTimestamp);
    if (built.desiredReplicas === 0) evictions.reset(key);
    const status = deriveStatus(model, {
      deployment: deployment as V1Deployment | undefined,
      pods,
      quotaReason: queued && (await quotaReasons.read(queued, signal)),
      draining: listDraining(view).filter((pod) => !pods.includes(pod)),
      vainEvictions: evictions.inVain(key),
      problems,
      ...built,
      engineDownloads: downloadsItself(model),
      startupTimeoutMs: parseDuration(model.spec.engine.startupTimeout),
      unpublished: unpublished.reason,
      acceptance: work.acceptance,
      storage: evaluateStorage(this.#context, model),
      traffic: evaluateTraffic(models, model),
      scaling: model.spec.scaling && scaler.statusOf(model),
      fit,
      selector: formatSelector(podSelector(name)),
      registrationId: registrationIdOf(model),
      isSidecarRolled: sidecars.includes(live),
      operatorVersion: settings.version,
      now: now(),
    });
    const found = findObstacle(status);
    const briefMs = found === WAITING_FOR_QUOTA ? countBriefMs(pods, now()) : 0;
    // Before the status is written, which counts where nothing is noted.
    if (models.noteObstacle(key, briefMs > 0 ? undefined : found))
      for (const { metadata } of [model, ...models.servedBy(model)])
        publisher.mark(deploymentTarget(metadata));
    await this.write(live, model.status, status, signal);
    const isPublished = unpublished.reason === undefined;
    const fitRecheckMs = isFitOpen ? FRONT_RETRY_MS : undefined;
    // Neither Workloads nor other deployments' pods make it be reconciled.
    const isWaiting = pods.some(({ spec, metadata }) => !spec?.nodeName && !metadata?.deletionTimestamp);
    const recheckMs = isWaiting ? Math.min(WAIT_RECHECK_MS, briefMs || WAIT_RECHECK_MS) : undefined;
    return { ...earliest(unpublished.recheckAfterMs, fitRecheckMs, recheckMs), isPublished };
  }

  /** Why the host is not published, if it takes unusually long. */
  findUnpublished(model: ModelDeployment): Unpublished {
    return this.#unpublished.evaluate(model);
  }

  async write(
    live: KubeObject,
    before: ModelDeploymentStatus,
    status: ModelDeploymentStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { statusWriter } = this.#context;
    await statusWriter.write(BERTH_RESOURCES.ModelDeployment, live, { status, signal });
    for (const { type, reason, message } of describeTransitions(before, status))
      this.#context.record(live, { type, reason, note: message });
  }

  delete(key: string): void {
    this.#unpublished.delete(key);
  }
}

const downloadsItself = ({ spec }: ModelDeployment): boolean =>
  spec.model.source.huggingFace !== undefined && spec.model.source.cache === undefined;
