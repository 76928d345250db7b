/** The autoscaler: reads what deployments have to do every two seconds, decides, and writes their replicas. The leader's alone. */
import type { V1Pod } from '@kubernetes/client-node';
import type { LiveScaling } from '../../api/gateway-config.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { ANNOTATIONS } from '../../api/names.ts';
import { channels } from '../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { isNotFound } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../kube/log.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { type DeploymentSample, readDemand } from '../../redis/demand/demand.ts';
import { type Subscription, subscribe } from '../../redis/subscription.ts';
import { BY_MODEL, type ClusterView } from '../framework/cluster-view.ts';
import type { ParsedStore } from '../framework/parsed-store.ts';
import { deploymentTarget } from '../publish/desired-state.ts';
import type { Publisher } from '../publish/publisher.ts';
import { unschedulableMs } from './pods.ts';
import { type LiveDeployment, ReplicaWriter } from './replica-writer.ts';
import { describeRoom, type Placement, Room } from './room.ts';
import { ScaledDeployment, type ScaledModel, type Step } from './scaled-deployment.ts';
import { readLoadTime, type ScalingStatus } from './scaling-status.ts';

const INTERVAL_MS = 2_000;
/** Workspaces in which nothing runs or waits are read less often, so that all together cost no more calls than this. */
const MAX_IDLE_CALLS_PER_SECOND = 100;
const CONCURRENT_CALLS = 16;
/** The step to zero is taken by the next reconciliation, or decided anew. */
const FRESH_MS = 10_000;
/** Lower than that of pods nobody chose, so that these go first. */
const DELETION_COST = '-1000';

type Drain = Extract<Step, { what: 'drain' }>;

export interface ScalerOptions {
  client: Pick<KubeClient, 'apply' | 'mergePatch'>;
  view: Pick<ClusterView, 'deployments' | 'pods'>;
  models: Pick<ParsedStore<ModelDeployment>, 'namespaces' | 'keys' | 'get' | 'isLeaving'>;
  connection: RedisConnection;
  publisher: Pick<Publisher, 'mark'>;
  /** Has a deployment reconciled: its status is another, or the front is to stand in before its last pod goes. */
  enqueue: (key: string, lane: 'fast' | 'slow') => void;
  log: Log;
  /** Unix milliseconds. */
  now: () => number;
  clock?: Clock;
  read?: typeof readDemand;
  intervalMs?: number | undefined;
}

export class Scaler {
  readonly #options: ScalerOptions;
  readonly #writer: ReplicaWriter;
  readonly #deployments = new Map<string, ScaledDeployment>();
  /** When each workspace in which nothing happens is read next, in Unix milliseconds. */
  readonly #idleUntil = new Map<string, number>();
  /** Whose pods to remove are being marked. */
  readonly #draining = new Set<string>();
  readonly #room = new Room();
  readonly #stopping = new AbortController();
  #subscription: Subscription | undefined;
  #cancelTimer = () => {};
  #looking: Promise<void> = Promise.resolve();
  #isAway = false;

  constructor(options: ScalerOptions) {
    this.#options = options;
    this.#writer = new ReplicaWriter(options.client);
  }

  start(): void {
    const { connection, clock = systemClock, intervalMs = INTERVAL_MS } = this.#options;
    this.#subscription = subscribe(connection, [channels.wake], {
      onMessage: (key) => this.wake(key),
      // What was said meanwhile, Redis still holds.
      onResume: () => this.#idleUntil.clear(),
    });
    const run = () => {
      this.#looking = this.look().finally(() => {
        if (!this.#stopping.signal.aborted) this.#cancelTimer = clock.after(intervalMs, run);
      });
    };
    run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#subscription?.close();
    await this.#looking;
  }

  /** Replicas that a deployment should have now; what it has while nothing was decided, as after a restart. */
  wantedOf(model: ModelDeployment, live: LiveDeployment | undefined): number {
    const { paused, scaling } = model.spec;
    if (paused) return 0;
    const wanted = this.#find(model)?.wanted;
    return wanted ?? (live ? this.#writer.current(live) : (scaling?.min ?? 1));
  }

  /** For the status. */
  statusOf(model: ModelDeployment): ScalingStatus | undefined {
    return this.#find(model)?.report.current ?? model.status.scaling;
  }

  /** For the gateways. */
  liveOf(model: ModelDeployment): LiveScaling {
    const deployment = this.#find(model);
    const loadTimeMs = deployment ? deployment.loadTimeMs : readLoadTime(model.status.scaling);
    return { loadTimeMs, cordoned: deployment?.cordon.names() ?? [] };
  }

  /** Takes `spec.replicas` over from the reconciler, which leaves it out from here on. */
  adopt(live: LiveDeployment, signal: AbortSignal): Promise<void> {
    return this.#writer.adopt(live, signal);
  }

  /** Removes the last pods once the front stands in; nothing where they are wanted again. Without Redis, raises to the minimum. */
  async settle(model: ModelDeployment, live: LiveDeployment, signal: AbortSignal): Promise<void> {
    const choose = () => {
      if (this.#isMissed(model, live)) return model.spec.scaling!.min;
      const isDue = model.spec.paused || this.#isFresh(model);
      return isDue && this.wantedOf(model, live) === 0 ? 0 : undefined;
    };
    await this.#writer.write(live, choose, signal);
  }

  /** While nothing is decided, the minimum is kept by what is said of it alone. */
  #isMissed({ spec }: ModelDeployment, live: LiveDeployment): boolean {
    const isAway = this.#options.connection.state === 'away';
    return isAway && !spec.paused && this.#writer.current(live) < (spec.scaling?.min ?? 0);
  }

  /** What was decided longer ago, as before Redis went away, may hold no more. */
  #isFresh(model: ModelDeployment): boolean {
    const decidedAt = this.#find(model)?.decidedAt ?? 0;
    return this.#options.now() - decidedAt <= FRESH_MS;
  }

  delete(key: string): void {
    this.#deployments.delete(key);
    this.#writer.delete(key);
  }

  /** From zero to one at once; a wrong hint costs a start, and only its workspace's. */
  wake(key: string): void {
    const model = this.#scaledModel(key);
    const live = this.#liveOf(key);
    if (!model || !live) return;
    this.#idleUntil.delete(model.metadata.namespace);
    const deployment = this.#ensure(key, model);
    if ((deployment.wanted ?? this.#writer.current(live)) > 0) return;
    deployment.waitingSince ??= this.#options.now();
    if (!this.#mayProbe(key, model)) return;
    const replicas = deployment.wake(model, this.#options.now());
    this.#note(key, { from: 0, to: replicas, reason: 'woken by a request' });
    this.#write(key, live, replicas);
    this.#options.enqueue(key, 'fast');
  }

  /** One look at all deployments that are due. */
  async look(): Promise<void> {
    const { connection, now, log } = this.#options;
    // Without samples nothing is decided: all stays as it is.
    if (connection.state === 'away') return;
    const due = this.#listDue(now());
    this.#room.update(
      [...this.#deployments].flatMap((each) => this.#placementOf(...each, now())),
      now(),
    );
    for (let start = 0; start < due.length; start += CONCURRENT_CALLS)
      await Promise.all(due.slice(start, start + CONCURRENT_CALLS).map((work) => this.#scaleWorkspace(work)));
    if (this.#isAway && connection.state === 'up') log.info({}, 'demand is read again');
    this.#isAway = false;
  }

  #listDue(now: number): { namespace: string; keys: string[] }[] {
    const { models } = this.#options;
    const known = new Set<string>();
    const due: { namespace: string; keys: string[] }[] = [];
    for (const namespace of models.namespaces()) {
      const keys = models.keys(namespace).filter((key) => this.#scaledModel(key) !== undefined);
      for (const key of keys) known.add(key);
      if (keys.length > 0 && now >= (this.#idleUntil.get(namespace) ?? 0)) due.push({ namespace, keys });
    }
    // One that is paused or not scaled any more starts from zero.
    for (const [key, deployment] of this.#deployments) if (!known.has(key)) deployment.forget();
    return due;
  }

  async #scaleWorkspace({ namespace, keys }: { namespace: string; keys: string[] }): Promise<void> {
    const { connection, read = readDemand, now, log } = this.#options;
    const names = keys.map((key) => key.slice(namespace.length + 1));
    try {
      const samples = await read(connection.redis, namespace, names);
      let isIdle = true;
      for (const [index, key] of keys.entries()) {
        const sample = samples.get(names[index]!);
        if (sample && !this.#decideSafely(key, sample)) isIdle = false;
      }
      const idleMs = (1_000 * this.#idleUntil.size) / MAX_IDLE_CALLS_PER_SECOND;
      if (isIdle) this.#idleUntil.set(namespace, now() + idleMs);
      else this.#idleUntil.delete(namespace);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const { message: reason } = error as Error;
      if (!isRedisAway(error))
        log.warn({ namespace, reason }, 'could not scale the deployments of a workspace');
      else if (!this.#isAway) log.warn({ reason }, 'demand cannot be read: nothing is scaled');
      this.#isAway ||= isRedisAway(error);
    }
  }

  /** One that cannot be judged must not keep its workspace's others from being. */
  #decideSafely(key: string, sample: DeploymentSample): boolean {
    try {
      return this.#decide(key, sample);
    } catch (error) {
      this.#options.log.warn({ key, err: error as Error }, 'could not scale a deployment');
      return false;
    }
  }

  /** Whether nothing runs there, and nothing is wanted. */
  #decide(key: string, sample: DeploymentSample): boolean {
    const { view, now, publisher, enqueue } = this.#options;
    const model = this.#scaledModel(key);
    const live = this.#liveOf(key);
    if (!model || !live) return true;
    const current = this.#writer.current(live);
    const pods = view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
    if (current === 0 && pods.length === 0 && isAsleep(model, sample)) {
      // A want that nobody has any more must not wait in line for others' room.
      const asleep = this.#find(model);
      if (asleep) asleep.waitingSince = undefined;
      return true;
    }
    const deployment = this.#ensure(key, model);
    const looked = deployment.decide({
      model,
      live,
      pods,
      sample,
      current,
      mayProbe: this.#mayProbe(key, model),
      now: now(),
    });
    if (!looked) return false;
    const { step, decision } = looked;
    if (looked.isConfigChanged) publisher.mark(deploymentTarget(model.metadata));
    if (step.what === 'write' || step.what === 'leave' || step.what === 'drain')
      this.#note(key, { from: current, to: step.replicas, reason: decision.reason });
    this.#carryOut(key, live, step);
    if (step.what === 'leave' && deployment.isLeaveDue(now())) enqueue(key, 'fast');
    else if (looked.isStatusChanged) enqueue(key, 'slow');
    return false;
  }

  #carryOut(key: string, live: LiveDeployment, step: Step): void {
    const { log } = this.#options;
    if (step.what === 'write') this.#write(key, live, step.replicas);
    else if (step.what === 'drain' && !this.#draining.has(key)) {
      this.#draining.add(key);
      this.#drain(key, live, step)
        .catch((error: Error) => {
          if (!this.#stopping.signal.aborted)
            log.warn({ key, err: error }, 'could not choose pods to remove');
        })
        .finally(() => this.#draining.delete(key));
    }
  }

  /** In the background, like the write. */
  async #drain(key: string, live: LiveDeployment, { pods, replicas }: Drain): Promise<void> {
    const { client, now } = this.#options;
    const { namespace } = live.metadata;
    const patch = { metadata: { annotations: { [ANNOTATIONS.deletionCost]: DELETION_COST } } };
    for (const name of pods)
      await client
        .mergePatch(RESOURCES.Pod, { at: { namespace, name }, patch, signal: this.#stopping.signal })
        .catch((error) => {
          if (!isNotFound(error)) throw error;
        });
    const deployment = this.#deployments.get(key);
    // Others may have been chosen meanwhile.
    if (deployment?.wanted !== replicas || deployment.cordon.waiting().join() !== pods.join()) return;
    deployment.cordon.leave(now());
    this.#write(key, live, replicas);
  }

  /** In the background: what fails shows in the next look. */
  #write(key: string, live: LiveDeployment, replicas: number): void {
    const { log } = this.#options;
    const isStill = () => this.#deployments.get(key)?.wanted === replicas;
    this.#writer
      .write(live, () => (isStill() ? replicas : undefined), this.#stopping.signal)
      .catch((error: Error) => {
        if (!this.#stopping.signal.aborted) log.warn({ key, err: error }, 'could not write replicas');
      });
  }

  #placementOf(key: string, { waitingSince }: ScaledDeployment, now: number): Placement[] {
    const model = this.#scaledModel(key);
    if (!model) return [];
    const pods = this.#options.view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
    return [
      {
        key,
        namespace: model.metadata.namespace,
        room: describeRoom(model.spec),
        placed: pods.filter(({ spec }) => spec?.nodeName !== undefined).length,
        refusedMs: Math.max(0, ...pods.map((pod) => unschedulableMs(pod, now))),
        waitingSince,
      },
    ];
  }

  #mayProbe = (key: string, { spec }: ScaledModel): boolean => this.#room.mayProbe(key, describeRoom(spec));

  #note(key: string, { from, to, reason }: { from: number; to: number; reason: string }): void {
    this.#options.log.info({ key, from, to, reason }, 'scaled');
  }

  #ensure(key: string, model: ScaledModel): ScaledDeployment {
    const known = this.#find(model);
    if (known) return known;
    const made = new ScaledDeployment(model);
    this.#deployments.set(key, made);
    return made;
  }

  #find({ metadata }: ModelDeployment): ScaledDeployment | undefined {
    const known = this.#deployments.get(`${metadata.namespace}/${metadata.name}`);
    return known?.uid === metadata.uid ? known : undefined;
  }

  /** Undefined for one that is not to be scaled now. */
  #scaledModel(key: string): ScaledModel | undefined {
    const parsed = this.#options.models.get(key);
    if (!parsed?.ok || this.#options.models.isLeaving(key)) return undefined;
    const { scaling, paused } = parsed.value.spec;
    return scaling && !paused ? (parsed.value as ScaledModel) : undefined;
  }

  /** Undefined for one that is gone, or is not kept whole: it cannot be judged. */
  #liveOf(key: string): LiveDeployment | undefined {
    const live = this.#options.view.deployments.get(key);
    return live && typeof live.spec !== 'string' && !live.metadata.deletionTimestamp ? live : undefined;
  }
}

/** Of most deployments at zero there is nothing to decide. */
const isAsleep = ({ spec }: ScaledModel, { replicas, fronts, jobs }: DeploymentSample): boolean =>
  spec.scaling.min === 0 &&
  spec.scaling.schedules.length === 0 &&
  replicas.length + fronts.length + jobs.queued + jobs.running === 0;
