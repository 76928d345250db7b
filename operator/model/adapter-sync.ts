/** Reconciles a LoRA adapter: its Service and route, the download of its weights, its status. Its base's pods serve it. */

import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../api/kubernetes-types.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { ANNOTATIONS, FINALIZER } from '../../api/names.ts';
import { addFinalizer } from '../../kube/finalizer.ts';
import { type KubeObject, objectKey } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { earliest, type Requeue } from '../../kube/work-queue.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import { type ServedAdapter, serveAdapter } from '../resources/adapters.ts';
import { evaluateFront } from '../resources/front-slices.ts';
import { countRollingAway } from '../resources/rolling.ts';
import { type Download, deriveAdapterStatus } from '../status/adapter.ts';
import { findCondition, type Verdict } from '../status/condition-list.ts';
import { findObstacle } from '../status/obstacle.ts';
import { isBlocking, type Problem } from '../status/problem.ts';
import { decideRecheckMs, evaluateHTTPRoute } from '../status/route-acceptance.ts';
import { readDownload } from './adapter-download.ts';
import { findAdapterProblems } from './adapter-problems.ts';
import type { Children } from './children.ts';
import type { ModelContext } from './context.ts';
import { attachFront, detachFront, listReadySince } from './front-attachment.ts';
import { registrationIdOf } from './model-store.ts';
import { findAdapterClaimProblem, findConflicts, findProblems } from './problems.ts';
import type { StatusReport } from './status-report.ts';
import type { WeightsPrefetch } from './weights-prefetch.ts';

/** Gateways report to Redis, which is not watched: asked as often as half the time that loading has taken. */
const LOADING_RECHECK = { minMs: 5_000, maxMs: 30_000 };
const LOADED_RECHECK_MS = 60_000;
/** Neither claims nor Secrets are watched, nor that a quota has room for a Job again. */
const PROBLEM_RECHECK = { minMs: 15_000, maxMs: 300_000 };
/** A new Job is seen in less. */
const MISSING_MS = 10_000;

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
  /** Which Job was asked for last, and since when, by key. */
  readonly #asked = new Map<string, { source: string | undefined; at: number }>();

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
    const served = base && serveAdapter(adapter, base);
    const isServed = models.isServed(adapter);
    const isDownloaded = served?.wanted && isDeepStrictEqual(adapter.status.adapter, served.wanted);
    const problems = await this.#findProblems(adapter, base, served, signal);
    const built = served && this.#context.buildAdapter(served, { problems, isServed });
    problems.push(...(built?.problems ?? []));
    const deployment = view.deployments.get(baseKey);
    const desiredPods = deployment?.spec?.replicas ?? 0;
    const readySince = isServed ? listReadySince(this.#context, baseKey) : [];
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
    const isRefused = problems.some(isBlocking);
    let acceptance: Verdict | undefined;
    let download: Download | 'Done' | undefined;
    // A refused one keeps what it has, and its Service leads nowhere once its base does not serve it.
    if (built && (!isRefused || view.services.get(key) !== undefined)) {
      const job = built.prefetchJob;
      if (job && !isRefused && !isDownloaded) download = await this.#download(live, job, signal);
      const applied = await this.#parts.children.apply({ live, built, beforePods: syncFront, signal });
      problems.push(...applied.problems);
      acceptance = applied.httpRoute && evaluateHTTPRoute(applied.httpRoute);
    } else await syncFront();
    const next =
      download === 'Done'
        ? serveAdapter({ ...adapter, status: { ...adapter.status, adapter: served!.wanted } }, base!)
        : served;
    const unpublished = this.#parts.status.findUnpublished(adapter);
    const isPaused = served?.model.spec.paused ?? adapter.spec.paused;
    const status = deriveAdapterStatus(adapter, {
      problems,
      desiredPods,
      readyPods: readySince.length,
      isServed,
      replicas: isServed ? (await this.#readReplicas(key, baseKey))?.replicas : [],
      engineName: next?.model.spec.engine.servedModelName,
      download: download === 'Done' ? undefined : download,
      downloaded: download === 'Done' ? served?.wanted : adapter.status.adapter,
      isPaused,
      url: built?.url,
      unpublished: unpublished.reason,
      acceptance,
      registrationId: registrationIdOf(adapter),
      now: now(),
    });
    await this.#parts.status.write(live, adapter.status, status, signal);
    if (models.noteObstacle(key, findObstacle(status))) this.#publish(adapter.metadata, baseKey);
    const loaded = findCondition(status.conditions, 'AdapterReady')!;
    const waitedMs = ({ lastTransitionTime }: Condition) => now() - toMillis(lastTransitionTime);
    // A refused edit does not end what is loaded.
    const refused = isRefused ? findCondition(status.conditions, 'Accepted') : undefined;
    const routeReady = findCondition(adapter.status.conditions, 'RouteReady');
    return earliest(
      refused || download ? slowDown(waitedMs(refused ?? loaded), PROBLEM_RECHECK) : undefined,
      // All other changes have events.
      isServed && readySince.length > 0 && !isPaused
        ? loaded.status === 'True'
          ? LOADED_RECHECK_MS
          : slowDown(waitedMs(loaded), LOADING_RECHECK)
        : undefined,
      unpublished.recheckAfterMs,
      front.recheckAfterMs,
      acceptance && decideRecheckMs(acceptance, routeReady, now()),
    );
  }

  delete(key: string): void {
    this.#marked.delete(key);
    this.#asked.delete(key);
  }

  async #download(live: KubeObject, job: KubeObject, signal: AbortSignal): Promise<Download | 'Done'> {
    const { client, view, now } = this.#context;
    const { prefetch } = this.#parts;
    const key = objectKey(live);
    const isEnsured = await prefetch.ensure(live, job, signal);
    const { name, annotations } = job.metadata;
    const source = annotations?.[ANNOTATIONS.prefetched];
    if (this.#asked.get(key)?.source !== source) this.#asked.set(key, { source, at: now() });
    const download = await readDownload(client, view.jobs.get(objectKey(job)), job, signal);
    if (download !== 'Missing') return download;
    if (!isEnsured || now() - this.#asked.get(key)!.at < MISSING_MS) return { job: name };
    // The next turn creates it.
    prefetch.delete(key);
    return { job: name, failure: 'it does not exist: it was refused or deleted, or its name is taken' };
  }

  /** Once for each change: most reconciles only ask how loading goes. */
  #mark(live: KubeObject, baseKey: string, base: ModelDeployment | undefined): void {
    const { view } = this.#context;
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
    this.#context.publisher.mark(deploymentTarget(live.metadata as ModelDeployment['metadata']));
  }

  /** The base's gateways have its configuration, too. */
  #publish(metadata: ModelDeployment['metadata'], baseKey: string): void {
    const { publisher, models } = this.#context;
    publisher.mark(deploymentTarget(metadata));
    if (models.get(baseKey))
      publisher.mark(deploymentTarget({ namespace: metadata.namespace, name: baseKey.split('/')[1]! }));
  }

  async #findProblems(
    adapter: ModelDeployment,
    base: ModelDeployment | undefined,
    served: ServedAdapter | undefined,
    signal: AbortSignal,
  ): Promise<Problem[]> {
    const { models } = this.#context;
    const problems = findAdapterProblems(adapter, base, base ? models.adaptersOf(base) : []);
    if (!base || !served || problems.length > 0)
      return [...problems, ...findConflicts(this.#context, adapter)];
    // Pods of the base, or the Job, hold the claim.
    const { adapter: downloaded } = adapter.status;
    const isHeld = downloaded
      ? downloaded.claimName === served.wanted?.claimName
      : this.#context.view.jobs.byIndex(BY_MODEL, objectKey(adapter as unknown as KubeObject)).length > 0;
    return [
      ...(await findProblems(this.#context, withoutClaim(served.model), signal)),
      ...(isHeld ? [] : await findAdapterClaimProblem(this.#context, base, signal)),
    ];
  }

  #readReplicas(key: string, baseKey: string): Promise<DeploymentSample | undefined> {
    const pods = this.#context.view.pods.byIndex(BY_MODEL, baseKey).length;
    return this.#context.readAdapter(key, pods).catch(() => undefined);
  }
}

/** The base's own claim is looked at apart. */
const withoutClaim = (model: ModelDeployment): ModelDeployment => ({
  ...model,
  spec: { ...model.spec, engine: { ...model.spec.engine, adapters: undefined } },
});

/** Rare where it has taken long: about ten times in an hour. */
const slowDown = (waitedMs: number, { minMs, maxMs }: { minMs: number; maxMs: number }): number =>
  Math.min(maxMs, Math.max(minMs, waitedMs / 2));
