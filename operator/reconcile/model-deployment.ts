/** Brings one ModelDeployment to what its spec says, as often as it is called. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../contract/model-deployment.ts';
import { FINALIZER, podSelector } from '../../contract/names.ts';
import { parseDuration } from '../../contract/quantity.ts';
import { isNamespaceTerminating } from '../kube/api-error.ts';
import { addFinalizer } from '../kube/finalizer.ts';
import { formatSelector, type KubeObject, objectKey } from '../kube/object.ts';
import type { Requeue } from '../kube/work-queue.ts';
import { deploymentTarget } from '../publish/targets.ts';
import type { BuiltChildren } from '../resources/built-children.ts';
import { deriveRefusal, deriveStatus } from '../status/model-deployment.ts';
import { isBlocking, type Problem } from '../status/problem.ts';
import { describeTransitions } from '../status/transitions.ts';
import { Children } from './children.ts';
import { BERTH_RESOURCES, BY_MODEL } from './cluster-view.ts';
import type { ReconcileContext } from './context.ts';
import { Finalization } from './finalization.ts';
import { judgeFront } from './front-slices.ts';
import { countRollingAway, listReadySince, putFront, takeFront } from './fronting.ts';
import { registrationIdOf } from './model-index.ts';
import { findProblems } from './problems.ts';
import { judgeStorage } from './storage-state.ts';
import type { Wire } from './wire.ts';

/** Secrets and claims are not watched: an object that waits for one is looked at again after this. */
const PROBLEM_RECHECK_MS = 15_000;

export class ModelReconciler {
  readonly #context: ReconcileContext;
  readonly #finalization: Finalization;
  readonly #children: Children;
  /** Statuses as last written, by key: the cache shows them a moment later. */
  readonly #written = new Map<string, { uid: string; status: ModelDeploymentStatus }>();

  constructor(context: ReconcileContext) {
    this.#context = context;
    this.#finalization = new Finalization(context);
    this.#children = new Children(context);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { view, models } = this.#context;
    const live = view.models.get(key);
    const parsed = models.get(key);
    if (!live || !parsed) {
      this.#forget(key);
      return {};
    }
    if (live.metadata.deletionTimestamp !== undefined) {
      const model = parsed.ok ? parsed.value : undefined;
      return this.#finalization.advance({
        key,
        live,
        model,
        signal,
        report: () => this.#report(live, model, signal),
      });
    }
    try {
      return parsed.ok
        ? await this.#bring(live, parsed.value, signal)
        : await this.#refuse(live, { reason: 'InvalidSpec', message: parsed.message }, signal);
    } catch (error) {
      // Nothing may be made there any more, and the object itself is about to be deleted.
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  async #bring(live: KubeObject, model: ModelDeployment, signal: AbortSignal): Promise<Requeue> {
    const context = this.#context;
    const key = `${model.metadata.namespace}/${model.metadata.name}`;
    await addFinalizer(context.client, {
      resource: BERTH_RESOURCES.ModelDeployment,
      object: live,
      finalizer: FINALIZER,
      signal,
    });
    const found = await findProblems(context, model, signal);
    const deployment = context.view.deployments.get(key);
    const built = context.build(model, { deployment, problems: found });
    const problems = [...found, ...built.problems];
    const front = judgeFront({
      readySince: listReadySince(context, key),
      desiredReplicas: built.desiredReplicas,
      deleting: false,
      rollingAway: countRollingAway(deployment, findDeployment(built)),
      now: context.now(),
    });
    const direct = built.via === 'Direct';
    const beforePods = async () => {
      if (direct && front.needed) await putFront(context, key, signal);
    };
    if (problems.some(isBlocking)) await beforePods();
    else problems.push(...(await this.#children.apply({ live, built, beforePods, signal })));
    if (!direct || !front.needed) await takeFront(context, key, signal);
    context.publisher.mark(deploymentTarget(model.metadata));
    const { recheckAfterMs } = await this.#writeStatus({ live, model, built, problems, signal });
    return earliest(
      recheckAfterMs,
      front.recheckAfterMs,
      problems.length > 0 ? PROBLEM_RECHECK_MS : undefined,
    );
  }

  /** The status of an object on its way out. */
  async #report(live: KubeObject, model: ModelDeployment | undefined, signal: AbortSignal): Promise<void> {
    if (!model) return;
    const { name, namespace } = model.metadata;
    const deployment = this.#context.view.deployments.get(`${namespace}/${name}`);
    const built = this.#context.build(model, { deployment });
    await this.#writeStatus({ live, model, built: { ...built, desiredReplicas: 0 }, problems: [], signal });
  }

  async #writeStatus(work: {
    live: KubeObject;
    model: ModelDeployment;
    built: BuiltChildren;
    problems: readonly Problem[];
    signal: AbortSignal;
  }): Promise<{ recheckAfterMs: number | undefined }> {
    const { live, model, built, problems, signal } = work;
    const { view, settings, now } = this.#context;
    const { name, namespace } = model.metadata;
    const key = `${namespace}/${name}`;
    const before = this.#lastStatus(live) ?? model.status;
    const { status, recheckAfterMs } = deriveStatus(
      { ...model, status: before },
      {
        deployment: view.deployments.get(key) as V1Deployment | undefined,
        pods: view.pods.byIndex(BY_MODEL, key) as unknown as Parameters<typeof deriveStatus>[1]['pods'],
        problems,
        desiredReplicas: built.desiredReplicas,
        gpuResource: built.gpuResource,
        startupTimeoutMs: parseDuration(model.spec.engine.startupTimeout),
        unpublished: this.#describeUnpublished(model),
        storage: judgeStorage(this.#context, model),
        selector: formatSelector(podSelector(name)),
        url: built.url,
        registrationId: registrationIdOf(model),
        sidecarVersion: built.sidecarVersion,
        staleSettings: built.staleSettings,
        operatorVersion: settings.version,
        now: now(),
      },
    );
    await this.#write(live, before, status, signal);
    return { recheckAfterMs };
  }

  /** Why the front does not know the deployment's host; undefined when it does, or is not meant to. */
  #describeUnpublished(model: ModelDeployment): string | undefined {
    const { models, publisher } = this.#context;
    const host = models.hostOf(model);
    if (host === undefined || publisher.publishedHost(model.metadata) === host) return undefined;
    const reason = publisher.failureOf(model.metadata) ?? publisher.trouble;
    return reason === undefined
      ? 'the host is being published'
      : `not published yet, Redis is away: ${reason}`;
  }

  async #refuse(live: KubeObject, problem: Problem, signal: AbortSignal): Promise<Requeue> {
    const { publisher, now } = this.#context;
    const metadata = live.metadata as ModelDeployment['metadata'];
    publisher.mark(deploymentTarget(metadata));
    const last = this.#lastStatus(live) ?? (live.status as ModelDeploymentStatus | undefined);
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
    await this.#context.statusWriter.write(BERTH_RESOURCES.ModelDeployment, live, { status, signal });
    this.#written.set(objectKey(live), { uid: live.metadata.uid!, status });
    for (const { type, reason, message } of describeTransitions(before, status))
      this.#context.record(live, { type, reason, note: message });
  }

  #lastStatus(live: KubeObject): ModelDeploymentStatus | undefined {
    const last = this.#written.get(objectKey(live));
    return last && last.uid === live.metadata.uid ? last.status : undefined;
  }

  #forget(key: string): void {
    const [namespace, name] = key.split('/') as [string, string];
    this.#finalization.forget(key);
    this.#context.publisher.mark(deploymentTarget({ namespace, name }));
    this.#children.forget(key);
    this.#written.delete(key);
  }
}

const findDeployment = ({ objects }: BuiltChildren): Wire<V1Deployment> | undefined =>
  objects.find(({ kind }) => kind === 'Deployment') as Wire<V1Deployment> | undefined;

function earliest(...times: (number | undefined)[]): Requeue {
  const due = times.filter((time) => time !== undefined);
  return due.length === 0 ? {} : { requeueAfterMs: Math.min(...due) };
}
