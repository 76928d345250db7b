/** Reconciles one ModelDeployment: its children, its front, its status. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { FINALIZER } from '../../api/names.ts';
import { addFinalizer } from '../../kube/finalizer.ts';
import { type KubeObject, objectKey, type Wire } from '../../kube/object.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import { type Leaving, Reconciler } from '../framework/reconciler.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import { serveAdapter } from '../resources/adapters.ts';
import { type BuiltChildren, findDeployment } from '../resources/children.ts';
import { evaluateFront } from '../resources/front-slices.ts';
import { countRollingAway, isOutdated } from '../resources/rolling.ts';
import { findCondition, type Verdict } from '../status/condition-list.ts';
import { deriveRefusal } from '../status/model-deployment.ts';
import { isBlocking, type Problem } from '../status/problem.ts';
import { decideRecheckMs, evaluateHTTPRoute } from '../status/route-acceptance.ts';
import { describeScaling } from '../status/transitions.ts';
import { AdapterSync } from './adapter-sync.ts';
import { Children, describeRefusal } from './children.ts';
import type { ModelContext } from './context.ts';
import { Finalization } from './finalization.ts';
import { attachFront, detachFront, listReadySince } from './front-attachment.ts';
import { findLiveDeployment, findWatchedDeployment } from './live-deployment.ts';
import { findProblems } from './problems.ts';
import {
  type BuiltFacts,
  describeInputs,
  type Fronting,
  type Inputs,
  type Settled,
  SettledModels,
} from './settled.ts';
import { StatusReport } from './status-report.ts';
import { hurryUnserved } from './unserved-pods.ts';
import { WeightsPrefetch } from './weights-prefetch.ts';

/** Secrets and claims are not watched: an object that waits for one is reconciled again after this. */
const PROBLEM_RECHECK_MS = 15_000;

export class ModelReconciler extends Reconciler<ModelDeployment, ModelContext> {
  readonly #finalization: Finalization;
  readonly #children: Children;
  readonly #status: StatusReport;
  readonly #prefetch: WeightsPrefetch;
  readonly #adapters: AdapterSync;
  readonly #settled = new SettledModels();

  constructor(context: ModelContext) {
    const { view, models } = context;
    super(context, { resource: BERTH_RESOURCES.ModelDeployment, cache: view.models, store: models });
    this.#finalization = new Finalization(context);
    this.#children = new Children(context);
    this.#status = new StatusReport(context);
    this.#prefetch = new WeightsPrefetch(context);
    this.#adapters = new AdapterSync(context, {
      children: this.#children,
      prefetch: this.#prefetch,
      status: this.#status,
    });
  }

  protected override finalize({ key, live, object, signal }: Leaving<ModelDeployment>): Promise<Requeue> {
    const report = () => this.#report(live, object, signal);
    return this.#finalization.advance({ key, live, model: object, signal, report });
  }

  protected async sync(live: KubeObject, model: ModelDeployment, signal: AbortSignal): Promise<Requeue> {
    if (model.spec.adapterOf) return this.#adapters.sync(live, model, signal);
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
      await this.#syncFront(key, settled.fronting, signal);
      if (settled.isReported && settled.inputs.verdicts === inputs.verdicts) return {};
      return this.#reportSettled(settled, { live, model, inputs, signal });
    }
    this.#settled.delete(key);
    await hurryUnserved(context, key, signal);
    const deployment = await findLiveDeployment(context, key, signal);
    const sidecarGrant = context.sidecars.grantOf(key);
    const isScaled = model.spec.scaling !== undefined;
    const scaledReplicas = isScaled ? context.scaler.wantedOf(model, deployment) : undefined;
    const pods = context.view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
    const adapters = context.models.servedBy(model).map((adapter) => serveAdapter(adapter, model));
    const built = context.build(model, {
      deployment,
      pods,
      problems: found,
      adapters,
      sidecarGrant,
      scaledReplicas,
    });
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
    let isPrefetched = true;
    if (problems.some(isBlocking)) await beforePods();
    else {
      isPrefetched = await this.#prefetch.ensure(live, built.prefetchJob, signal);
      // Without that, the Deployment must not be applied: nobody would own its replicas.
      const adopt = async () => {
        await beforePods();
        if (isScaled && deployment) await context.scaler.adopt(deployment, signal);
      };
      const applied = await this.#children.apply({ live, built, beforePods: adopt, signal });
      if (isScaled && deployment)
        await context.scaler.settle(model, deployment, signal).catch((error) => {
          const refusal = describeRefusal(error, live);
          if (!refusal) throw error;
          if (applied.problems.length === 0) problems.push(refusal);
        });
      if (!isScaled) this.#recordScaling(live, deployment, applied.deployment);
      problems.push(...applied.problems);
      acceptance = applied.httpRoute && evaluateHTTPRoute(applied.httpRoute);
    }
    if (fronting !== 'Serving') await this.#syncFront(key, fronting, signal);
    const facts = describeBuilt(built, findWatchedDeployment(context, key) ?? deployment);
    const { requeueAfterMs, isPublished } = await this.#status.report({
      live,
      model,
      built: facts,
      deployment,
      problems,
      acceptance,
      signal,
    });
    const routeReady = findCondition(model.status.conditions, 'RouteReady');
    const isOpen = problems.length > 0 || !isPrefetched;
    const recheck = earliest(
      acceptance && decideRecheckMs(acceptance, routeReady, context.now()),
      requeueAfterMs,
      front.recheckAfterMs,
      isOpen ? PROBLEM_RECHECK_MS : undefined,
    );
    // An HTTPRoute is not watched, so it is read each time.
    const dependsOnTime = front.recheckAfterMs !== undefined || acceptance !== undefined || isOpen;
    const isReported = isPublished && requeueAfterMs === undefined;
    if (!dependsOnTime)
      this.#settled.note(key, { inputs, fronting, built: facts, isReported, at: context.now() });
    return recheck;
  }

  /** The autoscaler's own writes are recorded where they are made. */
  #recordScaling(live: KubeObject, before: WrittenReplicas, after: WrittenReplicas): void {
    const [from, to] = [before?.spec?.replicas, after?.spec?.replicas];
    if (from === undefined || to === undefined || from === to) return;
    const { type, reason, message } = describeScaling({ from, to });
    this.context.record(live, { type, reason, note: message });
  }

  /** The children are as they were built: only the status is made anew. */
  async #reportSettled(
    settled: Settled,
    {
      live,
      model,
      inputs,
      signal,
    }: { live: KubeObject; model: ModelDeployment; inputs: Inputs; signal: AbortSignal },
  ): Promise<Requeue> {
    const key = objectKey(live);
    const deployment = await findLiveDeployment(this.context, key, signal);
    const { built } = settled;
    const work = { live, model, built, deployment, problems: [], signal };
    const { isPublished, requeueAfterMs } = await this.#status.report(work);
    const isReported = isPublished && requeueAfterMs === undefined;
    this.#settled.note(key, { ...settled, inputs, isReported });
    return { requeueAfterMs };
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
    await this.#status.report({
      live,
      model,
      built: { ...describeBuilt(built, deployment), desiredReplicas: 0 },
      deployment,
      problems: [],
      signal,
    });
  }

  protected async refuse(live: KubeObject, problem: Problem, signal: AbortSignal): Promise<Requeue> {
    const { publisher, now } = this.context;
    const metadata = live.metadata as ModelDeployment['metadata'];
    publisher.mark(deploymentTarget(metadata));
    const last = live.status as ModelDeploymentStatus | undefined;
    const before = { ...last, conditions: last?.conditions ?? [] };
    const status = deriveRefusal(metadata, before, { ...problem, now: now() });
    await this.#status.write(live, before, status, signal);
    return {};
  }

  protected async handleRemoval(key: string): Promise<Requeue> {
    const [namespace, name] = key.split('/') as [string, string];
    this.#finalization.delete(key);
    this.context.publisher.mark(deploymentTarget({ namespace, name }));
    this.#children.delete(key);
    this.#adapters.delete(key);
    this.#prefetch.delete(key);
    this.context.sidecars.delete(key);
    this.context.scaler.delete(key);
    this.context.fits.delete(key);
    this.context.evictions.delete(key);
    this.#settled.delete(key);
    this.#status.delete(key);
    return {};
  }
}

type WrittenReplicas = Pick<Wire<V1Deployment>, 'spec'> | undefined;

const describeBuilt = (built: BuiltChildren, deployment: Wire<V1Deployment> | undefined): BuiltFacts => ({
  desiredReplicas: built.desiredReplicas,
  gpuResource: built.gpuResource,
  url: built.url,
  engineStatus: built.engineStatus,
  isWithoutParsers: built.isWithoutParsers,
  sidecarVersion: built.sidecarVersion,
  isSidecarOutdated: built.isSidecarOutdated,
  staleSettings: built.staleSettings,
  isOutdated: isOutdated(deployment, findDeployment(built)),
});
