/** The autoscaler: decides deployments' replicas by their demand, and writes them. Runs only on the leader. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../kube/log.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import type { Publisher } from '../publish/publisher.ts';
import {
  CapacityProbes,
  describeCapacityNeed,
  describePlacement,
  type Placement,
} from './capacity-probes.ts';
import { explainMinimum, FIRST_REQUEST, NO_DEMAND } from './reasons.ts';
import {
  type DrainChange,
  type LiveDeployment,
  type ReplicaChange,
  ReplicaWriter,
  type ReplicaWriterOptions,
} from './replica-writer.ts';
import { isAsleep, type ScaledDeployment, type ScaledModel, type ScaleOutcome } from './scaled-deployment.ts';
import type { ScaledDeployments, ScalingSample } from './scaled-deployments.ts';
import { ScaledView, type ScaledViewOptions } from './scaled-view.ts';
import type { ScalingStatus } from './scaling-status.ts';

/** The step to zero is taken by the next reconciliation, or decided again. */
const FRESH_MS = 10_000;

export interface ScalerOptions extends ScaledViewOptions {
  /** Decided for here. */
  deployments: ScaledDeployments;
  client: Pick<KubeClient, 'apply' | 'mergePatch'>;
  /** Nothing is decided meanwhile. */
  isRedisAway: () => boolean;
  publisher: Pick<Publisher, 'mark'>;
  /** Requests a reconciliation: its status changed, or the front has to stand in before its last pod is removed. */
  enqueue: (key: string, lane: 'fast' | 'slow') => void;
  log: Log;
  /** Unix milliseconds. */
  now: () => number;
  onWritten?: ReplicaWriterOptions['onWritten'];
}

export class Scaler {
  readonly #options: ScalerOptions;
  readonly #view: ScaledView;
  readonly #writer: ReplicaWriter;
  readonly #deployments: ScaledDeployments;
  readonly #probes = new CapacityProbes();
  /** Pods that drain for others, as of the last sample. */
  #draining: readonly V1Pod[] = [];

  constructor(options: ScalerOptions) {
    this.#options = options;
    this.#view = new ScaledView(options);
    this.#deployments = options.deployments;
    const { client, log, onWritten } = options;
    this.#writer = new ReplicaWriter({
      client,
      log,
      onWritten: (key, change) => {
        log.info({ key, ...change }, 'scaled');
        onWritten?.(key, change);
      },
    });
  }

  /** Ends background work. */
  stop(): void {
    this.#writer.stop();
  }

  /** Desired replicas of a deployment; its current ones until a decision, as after a restart. */
  wantedOf(model: ModelDeployment, live: LiveDeployment | undefined): number {
    const { paused, scaling } = model.spec;
    if (paused) return 0;
    const wanted = this.#deployments.find(model)?.wanted;
    return wanted ?? (live ? this.#writer.current(live) : (scaling?.min ?? 1));
  }

  /** For the status. */
  statusOf(model: ModelDeployment): ScalingStatus | undefined {
    return this.#deployments.find(model)?.report.current ?? model.status.scaling;
  }

  /** Scaled deployments with at least one decision. */
  list(): ScalingSample[] {
    return this.#deployments.list(this.#options.now());
  }

  /** Takes ownership of `spec.replicas` from the reconciler, which omits it from now on. */
  adopt(live: LiveDeployment, signal: AbortSignal): Promise<void> {
    return this.#writer.adopt(live, signal);
  }

  /** Removes the last pods once the front stands in, unless they are needed again. Without Redis, raises to the minimum. */
  async settle(model: ModelDeployment, live: LiveDeployment, signal: AbortSignal): Promise<void> {
    const choose = () => {
      if (this.#isMissed(model, live))
        return { replicas: model.spec.scaling!.min, ...explainMinimum(model.spec.scaling!.min) };
      if (model.spec.paused) return { replicas: 0, reason: 'paused', cause: 'paused' as const };
      if (!this.#isFresh(model) || this.wantedOf(model, live) > 0) return undefined;
      return {
        replicas: 0,
        reason: this.statusOf(model)?.reason ?? NO_DEMAND.reason,
        cause: 'idle' as const,
      };
    };
    await this.#writer.write(live, choose, signal);
  }

  /** Until a decision, the minimum is enforced from the spec alone. */
  #isMissed({ spec }: ModelDeployment, live: LiveDeployment): boolean {
    return (
      this.#options.isRedisAway() && !spec.paused && this.#writer.current(live) < (spec.scaling?.min ?? 0)
    );
  }

  /** Older decisions, as from before an outage of Redis, may be outdated. */
  #isFresh(model: ModelDeployment): boolean {
    const decidedAt = this.#deployments.find(model)?.decidedAt ?? 0;
    return this.#options.now() - decidedAt <= FRESH_MS;
  }

  delete(key: string): void {
    this.#deployments.delete(key);
    this.#writer.delete(key);
  }

  /** From zero to one at once; a wrong hint costs a start, and only its workspace's. */
  wake(key: string): void {
    const model = this.#view.modelOf(key);
    const live = this.#view.liveOf(key);
    if (!model || !live) return;
    const deployment = this.#deployments.ensure(key, model);
    if ((deployment.wanted ?? this.#writer.current(live)) > 0) return;
    deployment.waitingSince ??= this.#options.now();
    if (!this.#mayProbe(key, model)) return;
    const replicas = deployment.wake(model, this.#options.now());
    this.#write(key, live, { replicas, ...FIRST_REQUEST });
    this.#options.enqueue(key, 'fast');
  }

  /** Whether it is scaled now. */
  isScaled(key: string): boolean {
    return this.#view.modelOf(key) !== undefined;
  }

  /** Pods that a deployment has now. */
  countReplicas = (key: string): number => this.#view.podsOf(key).length;

  /** Before the demand of all deployments is sampled, of which these are `scaled` now. */
  begin(scaled: ReadonlySet<string>): void {
    const now = this.#options.now();
    this.#draining = this.#view.draining();
    this.#deployments.resetOthers(scaled);
    this.#probes.update(
      [...this.#deployments.entries()].flatMap((each) => this.#placementOf(...each, now)),
      now,
    );
  }

  /** Those that wait for a replica come first, in the order of their waiting: what is free may not do for all of them. */
  sortByWait = (keys: readonly string[]): string[] => this.#deployments.sortByWait(keys);

  /**
   * Processes a deployment's sample, which was asked for at `askedAt` (Unix milliseconds); `asleep`: nothing runs there or is
   * desired.
   */
  decide(key: string, sample: DeploymentSample, askedAt: number): 'asleep' | 'awake' {
    try {
      return this.#decide(key, sample, askedAt);
    } catch (error) {
      // One that cannot be evaluated must not keep others from being.
      this.#options.log.warn({ key, err: error as Error }, 'could not scale a deployment');
      return 'awake';
    }
  }

  #decide(key: string, sample: DeploymentSample, askedAt: number): 'asleep' | 'awake' {
    const { now } = this.#options;
    const model = this.#view.modelOf(key);
    const live = this.#view.liveOf(key);
    if (!model || !live) return 'asleep';
    const current = this.#writer.current(live);
    const pods = this.#view.podsOf(key);
    if (current === 0 && pods.length === 0 && isAsleep(model, sample)) {
      // It was woken meanwhile: the sample is older than the request, whose place in the line it would take away.
      if ((this.#deployments.find(model)?.waitingSince ?? 0) >= askedAt) return 'awake';
      this.#sleep(key, model);
      return 'asleep';
    }
    const mayProbe = this.#mayProbe(key, model);
    const deployment = this.#deployments.ensure(key, model);
    const outcome = deployment.decide({
      model,
      live,
      pods,
      draining: this.#draining,
      sample,
      current,
      mayProbe,
      now: now(),
    });
    if (outcome) this.#carryOut(model, live, outcome);
    return 'awake';
  }

  #sleep(key: string, model: ScaledModel): void {
    const { now, enqueue } = this.#options;
    const deployment = this.#deployments.find(model);
    // An obsolete need must not compete for capacity.
    if (deployment) {
      deployment.waitingSince = undefined;
      deployment.seen = { demand: 0, ready: 0, held: 0 };
    }
    if (deployment && now() - deployment.decidedAt <= FRESH_MS) return;
    // Another leader may have taken the step to zero without reporting it.
    const status = this.statusOf(model);
    if (
      status &&
      (status.wanted > 0 || status.needed > 0) &&
      this.#deployments.ensure(key, model).rest(now())
    )
      enqueue(key, 'slow');
  }

  #carryOut(
    { metadata }: ScaledModel,
    live: LiveDeployment,
    { step, decision, ...outcome }: ScaleOutcome,
  ): void {
    const { now, publisher, enqueue } = this.#options;
    const key = `${metadata.namespace}/${metadata.name}`;
    const deployment = this.#deployments.get(key)!;
    if (outcome.isConfigChanged) publisher.mark(deploymentTarget(metadata));
    const { reason, cause } = decision;
    if (step.what === 'write') this.#write(key, live, { replicas: step.replicas, reason, cause });
    if (step.what === 'drain') this.#drain(key, live, { ...step, reason, cause });
    if (step.what === 'leave' && deployment.isLeaveDue(now())) enqueue(key, 'fast');
    else if (outcome.isStatusChanged) enqueue(key, 'slow');
  }

  #drain(key: string, live: LiveDeployment, change: DrainChange): void {
    this.#writer.drain(live, change, {
      mayGo: () => {
        const deployment = this.#deployments.get(key);
        // Others may have been chosen meanwhile.
        if (deployment?.wanted !== change.replicas) return false;
        if (deployment.cordon.waiting().join() !== change.pods.join()) return false;
        deployment.cordon.leave(this.#options.now());
        return true;
      },
      isStill: () => this.#isStill(key, change),
    });
  }

  #write(key: string, live: LiveDeployment, change: ReplicaChange): void {
    this.#writer.change(live, change, () => this.#isStill(key, change));
  }

  #isStill = (key: string, { replicas }: ReplicaChange): boolean =>
    this.#deployments.get(key)?.wanted === replicas;

  #placementOf(key: string, deployment: ScaledDeployment, now: number): Placement[] {
    const model = this.#view.modelOf(key);
    if (!model) return [];
    return [describePlacement(key, model, { pods: this.#view.podsOf(key), deployment, now })];
  }

  #mayProbe = (key: string, { spec }: ScaledModel): boolean =>
    this.#probes.mayProbe(key, describeCapacityNeed(spec));
}
