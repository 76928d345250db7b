/** Reconciles a LoRA adapter: its Service and route, the download of its weights, its status. Its base's pods serve it. */
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { FINALIZER } from '../../api/names.ts';
import { addFinalizer } from '../../kube/finalizer.ts';
import { type KubeObject, objectKey } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { BERTH_RESOURCES, BY_MODEL } from '../framework/cluster-view.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import { serveAdapter } from '../resources/adapters.ts';
import { evaluateFront } from '../resources/front-slices.ts';
import { countRollingAway } from '../resources/rolling.ts';
import { type Download, deriveAdapterStatus } from '../status/adapter.ts';
import { findCondition, type Verdict } from '../status/condition-list.ts';
import { findObstacle } from '../status/obstacle.ts';
import { isBlocking, isUnservable, type Problem } from '../status/problem.ts';
import { decideRecheckMs, evaluateHTTPRoute } from '../status/route-acceptance.ts';
import { readDownload } from './adapter-download.ts';
import { findAdapterProblems } from './adapter-problems.ts';
import type { Children } from './children.ts';
import type { ModelContext } from './context.ts';
import { attachFront, detachFront, listReadySince } from './front-attachment.ts';
import { registrationIdOf } from './model-store.ts';
import { findConflicts, findProblems } from './problems.ts';
import type { StatusReport } from './status-report.ts';
import type { WeightsPrefetch } from './weights-prefetch.ts';

/** Gateways report to Redis, which is not watched. */
const LOADING_RECHECK_MS = 5_000;
const LOADED_RECHECK_MS = 30_000;

interface Parts {
  children: Children;
  prefetch: WeightsPrefetch;
  status: StatusReport;
}

export class AdapterSync {
  readonly #context: ModelContext;
  readonly #parts: Parts;
  /** What was last marked for publication, by key. */
  readonly #marked = new Map<string, string>();

  constructor(context: ModelContext, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  async sync(live: KubeObject, adapter: ModelDeployment, signal: AbortSignal): Promise<Requeue> {
    const { client, models, view, now } = this.#context;
    const key = objectKey(live);
    const baseKey = `${adapter.metadata.namespace}/${adapter.spec.adapterOf!.deployment}`;
    const base = models.baseOf(adapter);
    this.#mark(live, baseKey, base);
    await addFinalizer(client, {
      resource: BERTH_RESOURCES.ModelDeployment,
      object: live,
      finalizer: FINALIZER,
      signal,
    });
    const problems = await this.#findProblems(adapter, base, signal);
    const served = base && serveAdapter(adapter, base);
    const built = served && this.#context.buildAdapter(served, problems);
    problems.push(...(built?.problems ?? []));
    const isWithdrawn = problems.some(isUnservable);
    const deployment = view.deployments.get(baseKey);
    const desiredPods = deployment?.spec?.replicas ?? 0;
    const readySince = isWithdrawn ? [] : listReadySince(this.#context, baseKey);
    const front = evaluateFront({
      readySince,
      desiredReplicas: desiredPods,
      deleting: view.models.get(baseKey)?.metadata.deletionTimestamp !== undefined,
      rollingAway: countRollingAway(deployment, undefined),
      now: now(),
    });
    const syncFront = () =>
      built?.via === 'Front'
        ? detachFront(this.#context, key, signal)
        : attachFront(this.#context, key, front.needed ? 'Serving' : 'Standby', signal);
    let acceptance: Verdict | undefined;
    let download: Download | undefined;
    const isApplied = isWithdrawn ? view.services.get(key) !== undefined : !problems.some(isBlocking);
    if (built && isApplied) {
      if (!isWithdrawn) download = await this.#download(live, adapter, built.prefetchJob!, signal);
      const applied = await this.#parts.children.apply({ live, built, beforePods: syncFront, signal });
      problems.push(...applied.problems);
      acceptance = applied.httpRoute && evaluateHTTPRoute(applied.httpRoute);
    } else await syncFront();
    const unpublished = this.#parts.status.findUnpublished(adapter);
    const status = deriveAdapterStatus(adapter, {
      problems,
      desiredPods,
      readyPods: readySince.length,
      replicas: (await this.#readReplicas(key, baseKey))?.replicas,
      engineName: served?.model.spec.engine.servedModelName,
      download,
      isPaused: served?.model.spec.paused ?? adapter.spec.paused,
      url: built?.url,
      unpublished: unpublished.reason,
      acceptance,
      registrationId: registrationIdOf(adapter),
      now: now(),
    });
    await this.#parts.status.write(live, adapter.status, status, signal);
    if (models.noteObstacle(key, findObstacle(status)))
      this.#context.publisher.mark(deploymentTarget(adapter.metadata));
    const isLoaded = isLoadedBy(status);
    const routeReady = findCondition(adapter.status.conditions, 'RouteReady');
    return earliest(
      isLoaded ? LOADED_RECHECK_MS : LOADING_RECHECK_MS,
      unpublished.recheckAfterMs,
      front.recheckAfterMs,
      acceptance && decideRecheckMs(acceptance, routeReady, now()),
    );
  }

  delete(key: string): void {
    this.#marked.delete(key);
  }

  /** Undefined once it has ended, or the adapter is loaded: then nothing of it is downloaded again. */
  async #download(
    live: KubeObject,
    { metadata, status }: ModelDeployment,
    job: KubeObject,
    signal: AbortSignal,
  ): Promise<Download | undefined> {
    const { prefetch } = this.#parts;
    if (isLoadedBy(status) && status.observedGeneration === metadata.generation) return undefined;
    if (!(await prefetch.ensure(live, job, signal))) return { job: job.metadata.name };
    const download = await readDownload(this.#context.client, job, signal);
    // The next turn creates it.
    if (download?.isMissing) prefetch.delete(objectKey(live));
    return download;
  }

  /** Once for each change: most reconciles only ask how loading goes. */
  #mark(live: KubeObject, baseKey: string, base: ModelDeployment | undefined): void {
    const { publisher, view } = this.#context;
    const key = objectKey(live);
    const pods = listReadySince(this.#context, baseKey);
    const { resourceVersion } = view.deployments.get(baseKey)?.metadata ?? {};
    const state = JSON.stringify([
      live.metadata.resourceVersion,
      base?.metadata.uid,
      base?.metadata.generation,
      resourceVersion,
      pods,
    ]);
    if (this.#marked.get(key) === state) return;
    this.#marked.set(key, state);
    publisher.mark(deploymentTarget(live.metadata as ModelDeployment['metadata']));
  }

  async #findProblems(
    adapter: ModelDeployment,
    base: ModelDeployment | undefined,
    signal: AbortSignal,
  ): Promise<Problem[]> {
    const problems = findAdapterProblems(adapter, base, base ? this.#context.models.adaptersOf(base) : []);
    if (!base || problems.length > 0) return [...problems, ...findConflicts(this.#context, adapter)];
    const { model } = serveAdapter(adapter, base);
    return [
      ...(await findProblems(this.#context, model, signal)),
      ...(await this.#findMissingClaim(adapter, signal)),
    ];
  }

  /** The pods of the base mount it: without it, none could start, nor while it is being deleted. */
  async #findMissingClaim({ metadata, spec }: ModelDeployment, signal: AbortSignal): Promise<Problem[]> {
    const name = spec.model.source.cache!.claimName;
    const at = { namespace: metadata.namespace, name };
    const claim = await this.#context.client.find(RESOURCES.PersistentVolumeClaim, at, { signal });
    if (claim && claim.metadata.deletionTimestamp === undefined) return [];
    const message = `spec.model.source.cache.claimName: claim ${name} not found`;
    return [{ reason: 'ClaimNotFound', message }];
  }

  #readReplicas(key: string, baseKey: string): Promise<DeploymentSample | undefined> {
    const pods = this.#context.view.pods.byIndex(BY_MODEL, baseKey).length;
    return this.#context.readAdapter(key, pods).catch(() => undefined);
  }
}

const isLoadedBy = ({ conditions }: Pick<ModelDeploymentStatus, 'conditions'>): boolean =>
  findCondition(conditions, 'AdapterReady')?.status === 'True';
