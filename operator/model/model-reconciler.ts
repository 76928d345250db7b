/** Reconciles one ModelDeployment: its children, its front, its status. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { FINALIZER, podSelector } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import { addFinalizer } from '../../kube/finalizer.ts';
import { formatSelector, isStub, type KubeObject, type Wire } from '../../kube/object.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { FRONT_RETRY_MS } from '../fit/fits.ts';
import { BERTH_RESOURCES, BY_MODEL } from '../framework/cluster-view.ts';
import { type Leaving, Reconciler } from '../framework/reconciler.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import type { BuiltChildren } from '../resources/children.ts';
import { evaluateFront } from '../resources/front-slices.ts';
import { countRollingAway, isOutdated } from '../resources/rolling.ts';
import { findCondition, NOT_LOOKED_UP, type Verdict } from '../status/condition-list.ts';
import { deriveRefusal, deriveStatus } from '../status/model-deployment.ts';
import { findObstacle } from '../status/obstacle.ts';
import { isBlocking, type Problem } from '../status/problem.ts';
import { decideRecheckMs, evaluateHTTPRoute } from '../status/route-acceptance.ts';
import { describeTransitions } from '../status/transitions.ts';
import { Children } from './children.ts';
import type { ModelContext } from './context.ts';
import { Finalization } from './finalization.ts';
import { attachFront, detachFront, listReadySince } from './front-attachment.ts';
import { findLiveDeployment } from './live-deployment.ts';
import { registrationIdOf } from './model-store.ts';
import { findProblems } from './problems.ts';
import { describeInputs, type Fronting, SettledModels } from './settled.ts';
import { evaluateStorage } from './storage-state.ts';
import { UnpublishedHosts } from './unpublished-hosts.ts';
import { hurryUnserved } from './unserved-pods.ts';
import { WeightsPrefetch } from './weights-prefetch.ts';

/** Secrets and claims are not watched: an object that waits for one is reconciled again after this. */
const PROBLEM_RECHECK_MS = 15_000;

export class ModelReconciler extends Reconciler<ModelDeployment, ModelContext> {
  readonly #finalization: Finalization;
  readonly #children: Children;
  readonly #unpublished: UnpublishedHosts;
  readonly #prefetch: WeightsPrefetch;
  readonly #settled = new SettledModels();

  constructor(context: ModelContext) {
    const { view, models } = context;
    super(context, { resource: BERTH_RESOURCES.ModelDeployment, cache: view.models, store: models });
    this.#finalization = new Finalization(context);
    this.#children = new Children(context);
    this.#unpublished = new UnpublishedHosts(context);
    this.#prefetch = new WeightsPrefetch(context);
  }

  protected override finalize({ key, live, object, signal }: Leaving<ModelDeployment>): Promise<Requeue> {
    const report = () => this.#report(live, object, signal);
    return this.#finalization.advance({ key, live, model: object, signal, report });
  }

  protected async sync(live: KubeObject, model: ModelDeployment, signal: AbortSignal): Promise<Requeue> {
    const context = this.context;
    const key = `${model.metadata.namespace}/${model.metadata.name}`;
    // Before anything is awaited: later changes do not count as applied.
    const inputs = describeInputs(context, live, model);
    const settled = this.#settled.find(key, inputs, context.now());
    // First, so that failures below do not prevent publishing.
    if (!settled) context.publisher.mark(deploymentTarget(model.metadata));
    await addFinalizer(context.client, {
      resource: BERTH_RESOURCES.ModelDeployment,
      object: live,
      finalizer: FINALIZER,
      signal,
    });
    const found = await findProblems(context, model, signal);
    if (settled && found.length === 0) {
      await this.#syncFront(key, settled, signal);
      return {};
    }
    this.#settled.delete(key);
    await hurryUnserved(context, key, signal);
    const deployment = await findLiveDeployment(context, key, signal);
    const sidecarGrant = context.sidecars.grantOf(key);
    const isScaled = model.spec.scaling !== undefined;
    const scaledReplicas = isScaled ? context.scaler.wantedOf(model, deployment) : undefined;
    const built = context.build(model, { deployment, problems: found, sidecarGrant, scaledReplicas });
    const problems = [...found, ...built.problems];
    context.sidecars.note(key, built.isSidecarOutdated && !problems.some(isBlocking));
    const front = evaluateFront({
      readySince: listReadySince(context, key),
      desiredReplicas: built.desiredReplicas,
      deleting: false,
      rollingAway: countRollingAway(deployment, findDeployment(built)),
      now: context.now(),
    });
    const fronting = built.via !== 'Direct' ? 'None' : front.needed ? 'Serving' : 'Standby';
    const beforePods = async () => {
      if (fronting === 'Serving') await this.#syncFront(key, fronting, signal);
    };
    let acceptance: Verdict | undefined;
    if (problems.some(isBlocking)) await beforePods();
    else {
      if (isScaled && deployment) await context.scaler.adopt(deployment, signal);
      await this.#prefetch.ensure(live, built.prefetchJob, signal);
      const applied = await this.#children.apply({ live, built, beforePods, signal });
      if (isScaled && deployment) await context.scaler.settle(model, deployment, signal);
      problems.push(...applied.problems);
      acceptance = applied.httpRoute && evaluateHTTPRoute(applied.httpRoute);
    }
    if (fronting !== 'Serving') await this.#syncFront(key, fronting, signal);
    const { requeueAfterMs, isPublished } = await this.#deriveAndWrite({
      live,
      model,
      built,
      deployment,
      problems,
      acceptance,
      signal,
    });
    const routeReady = findCondition(model.status.conditions, 'RouteReady');
    const recheck = earliest(
      acceptance && decideRecheckMs(acceptance, routeReady, context.now()),
      requeueAfterMs,
      front.recheckAfterMs,
      problems.length > 0 ? PROBLEM_RECHECK_MS : undefined,
    );
    // An HTTPRoute is not watched, so it is read each time; nor is why a host is not published, which the status shows.
    if (recheck.requeueAfterMs === undefined && acceptance === undefined && isPublished)
      this.#settled.note(key, { inputs, fronting, at: context.now() });
    return recheck;
  }

  #syncFront(key: string, fronting: Fronting, signal: AbortSignal): Promise<void> {
    if (fronting === 'None') return detachFront(this.context, key, signal);
    return attachFront(this.context, key, fronting, signal);
  }

  /** The status of an object that is being deleted. */
  async #report(live: KubeObject, model: ModelDeployment | undefined, signal: AbortSignal): Promise<void> {
    if (!model) return;
    const { name, namespace } = model.metadata;
    const deployment = this.context.view.deployments.get(`${namespace}/${name}`);
    const built = this.context.build(model, { deployment });
    await this.#deriveAndWrite({
      live,
      model,
      built: { ...built, desiredReplicas: 0 },
      deployment,
      problems: [],
      signal,
    });
  }

  async #deriveAndWrite(work: {
    live: KubeObject;
    model: ModelDeployment;
    built: BuiltChildren;
    /** Used where the watch has none, or a stub. */
    deployment: Wire<V1Deployment> | undefined;
    problems: readonly Problem[];
    acceptance?: Verdict | undefined;
    signal: AbortSignal;
  }): Promise<Requeue & { isPublished: boolean }> {
    const { live, model, built, problems, signal } = work;
    const { view, settings, sidecars, scaler, fits, models, publisher, now } = this.context;
    const { name, namespace } = model.metadata;
    const key = `${namespace}/${name}`;
    const unpublished = this.#unpublished.evaluate(model);
    const fit = fits.evaluate(model);
    const isFitOpen = fit === 'Pending' || fit?.reason === NOT_LOOKED_UP;
    const watched = view.deployments.get(key);
    const deployment = watched && !isStub(watched) ? watched : work.deployment;
    const status = deriveStatus(model, {
      deployment: deployment as V1Deployment | undefined,
      pods: view.pods.byIndex(BY_MODEL, key) as unknown as Parameters<typeof deriveStatus>[1]['pods'],
      problems,
      isOutdated: isOutdated(deployment, findDeployment(built)),
      desiredReplicas: built.desiredReplicas,
      gpuResource: built.gpuResource,
      engineDownloads: downloadsItself(model),
      startupTimeoutMs: parseDuration(model.spec.engine.startupTimeout),
      unpublished: unpublished.reason,
      acceptance: work.acceptance,
      storage: evaluateStorage(this.context, model),
      scaling: model.spec.scaling && scaler.statusOf(model),
      fit,
      selector: formatSelector(podSelector(name)),
      url: built.url,
      registrationId: registrationIdOf(model),
      engineStatus: built.engineStatus,
      sidecarVersion: built.sidecarVersion,
      isSidecarOutdated: built.isSidecarOutdated,
      isSidecarRolled: sidecars.includes(live),
      staleSettings: built.staleSettings,
      operatorVersion: settings.version,
      now: now(),
    });
    await this.#write(live, model.status, status, signal);
    if (models.noteObstacle(key, findObstacle(status))) publisher.mark(deploymentTarget(model.metadata));
    const isPublished = unpublished.reason === undefined;
    const fitRecheckMs = isFitOpen ? FRONT_RETRY_MS : undefined;
    return { ...earliest(unpublished.recheckAfterMs, fitRecheckMs), isPublished };
  }

  protected async refuse(live: KubeObject, problem: Problem, signal: AbortSignal): Promise<Requeue> {
    const { publisher, now } = this.context;
    const metadata = live.metadata as ModelDeployment['metadata'];
    publisher.mark(deploymentTarget(metadata));
    const last = live.status as ModelDeploymentStatus | undefined;
    const before = { ...last, conditions: last?.conditions ?? [] };
    const status = deriveRefusal(metadata, before, { ...problem, now: now() });
    await this.#write(live, before, status, signal);
    return {};
  }

  async #write(
    live: KubeObject,
    before: ModelDeploymentStatus,
    status: ModelDeploymentStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { statusWriter } = this.context;
    await statusWriter.write(BERTH_RESOURCES.ModelDeployment, live, { status, signal });
    for (const { type, reason, message } of describeTransitions(before, status))
      this.context.record(live, { type, reason, note: message });
  }

  protected async handleRemoval(key: string): Promise<Requeue> {
    const [namespace, name] = key.split('/') as [string, string];
    this.#finalization.delete(key);
    this.context.publisher.mark(deploymentTarget({ namespace, name }));
    this.#children.delete(key);
    this.#prefetch.delete(key);
    this.context.sidecars.delete(key);
    this.context.scaler.delete(key);
    this.context.fits.delete(key);
    this.#settled.delete(key);
    this.#unpublished.delete(key);
    return {};
  }
}

const downloadsItself = ({ spec }: ModelDeployment): boolean =>
  spec.model.source.huggingFace !== undefined && spec.model.source.cache === undefined;

const findDeployment = ({ objects }: BuiltChildren): Wire<V1Deployment> | undefined =>
  objects.find(({ kind }) => kind === 'Deployment') as Wire<V1Deployment> | undefined;

function earliest(...times: (number | undefined)[]): Requeue {
  const due = times.filter((time) => time !== undefined);
  return due.length === 0 ? {} : { requeueAfterMs: Math.min(...due) };
}
