/** One scaled deployment: its state between samples, and how a decision is executed. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ModelScaling } from '../../api/model-scaling.ts';
import { parseDuration } from '../../api/quantity.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { DemandTrend } from '../../redis/demand/demand-trend.ts';
import { isRolling } from '../resources/rolling.ts';
import { Calendar } from '../resources/schedules.ts';
import { isReady } from '../status/pod-findings.ts';
import { Cordon } from './cordon.ts';
import { decideScale, type ScaleDecision } from './decision.ts';
import { countPods, isAwaiting, listStaying, measureLoad } from './pods.ts';
import { FIRST_REQUEST, NO_DEMAND } from './reasons.ts';
import type { LiveDeployment } from './replica-writer.ts';
import { resolveRules } from './rules.ts';
import type { PodCounts, ScaleMemory } from './scale-question.ts';
import { readLoadTime, StatusReport } from './scaling-status.ts';

export type ScaledModel = ModelDeployment & { spec: { scaling: ModelScaling } };

/** Observations of one sample. */
export interface ScalingObservation {
  model: ScaledModel;
  live: LiveDeployment;
  pods: readonly V1Pod[];
  /** Pods of all deployments that drain for others. */
  draining: readonly V1Pod[];
  sample: DeploymentSample;
  /** Replicas that the Deployment has now. */
  current: number;
  mayProbe: boolean;
  /** Unix milliseconds. */
  now: number;
}

/** How to execute a decision; `write`: at once; `drain`: when these pods are idle; `leave`: once the front stands in. */
export type Step =
  | { what: 'keep' }
  | { what: 'write' | 'leave'; replicas: number }
  | { what: 'drain'; replicas: number; pods: string[] };

export interface ScaleOutcome {
  step: Step;
  decision: ScaleDecision;
  counts: PodCounts;
  /** The status, or what is published to gateways, changed. */
  isStatusChanged: boolean;
  isConfigChanged: boolean;
}

/** Time of a start in addition to the engine's own: images, weights. */
const START_MARGIN_MS = 600_000;
/** Less than the lifetime of a decision. */
const LEAVE_INTERVAL_MS = 8_000;
/** Weight of the last start; earlier ones make up the rest. */
const LOAD_WEIGHT = 0.5;

export class ScaledDeployment {
  readonly uid: string;
  readonly cordon = new Cordon();
  readonly report: StatusReport;
  loadTimeMs: number | null;
  /** Desired replicas; undefined until the first decision. */
  wanted: number | undefined;
  /** Unix milliseconds of the last decision. */
  decidedAt = 0;
  /** Unix milliseconds since when it needs more than has a node; undefined while it does not. */
  waitingSince: number | undefined;
  /** Unix milliseconds at which others last drained for its pods. */
  awaitedAt = 0;
  /** Names of pods that should sleep until a request arrives. */
  sleeping: string[] = [];
  /** As the last decision saw it. */
  seen = { demand: 0, ready: 0, held: 0 };
  #trend: DemandTrend | undefined;
  #memory: ScaleMemory = {};
  #leaveAskedAt = 0;
  #calendar: { text: string; calendar: Calendar } | undefined;
  /** By uid of a pod: a start is measured once, if it was observed before its end. */
  readonly #starts = new Map<string, 'seen' | 'ended'>();

  constructor({ metadata, status }: ModelDeployment) {
    this.uid = metadata.uid;
    this.report = new StatusReport(status.scaling);
    this.loadTimeMs = readLoadTime(status.scaling);
  }

  /** Processes a sample and decides; `observed.current` is not changed yet. Undefined if the sample is not newer than the last one. */
  decide(observed: ScalingObservation): ScaleOutcome | undefined {
    const { model, live, draining, sample, current, mayProbe, now } = observed;
    if (this.#trend?.takes(sample.at) === false) return undefined;
    const staying = listStaying(observed.pods);
    const before = this.#describeLive();
    const startMs = parseDuration(model.spec.engine.startupTimeout) + START_MARGIN_MS;
    this.#learnLoadTime(staying, startMs);
    this.cordon.prune(staying, now);
    const rules = resolveRules(model.spec, {
      calendar: this.#calendarOf(model.spec.scaling),
      loadTimeMs: this.loadTimeMs,
      now,
    });
    const trend = this.#trendOf(rules);
    trend.add(sample);
    if (staying.some((pod) => isAwaiting(pod, draining, now))) this.awaitedAt = now;
    const counts = countPods(staying, { wanted: current, startMs, awaitedAt: this.awaitedAt, now });
    const decision = decideScale({
      rules,
      demand: trend,
      pods: counts,
      loadTimeMs: this.loadTimeMs,
      holdDown: findHold(live, counts, sample),
      mayProbe,
      memory: this.#memory,
      now,
    });
    this.#memory = decision.memory;
    // Those held back by a queue wait for that, not for a node.
    const owned = counts.ready + counts.starting + counts.broken + counts.gated;
    this.waitingSince = decision.needed > owned ? (this.waitingSince ?? now) : undefined;
    const step = this.#plan(observed, { decision, counts, staying });
    this.wanted = step.what === 'keep' ? current : step.replicas;
    this.sleeping = decision.maySleep && current === 1 ? staying.filter(isReady).map(nameOf) : [];
    this.decidedAt = now;
    const demand = trend.average(rules.stableMs) ?? trend.average(rules.panicMs) ?? 0;
    const held = sample.fronts.reduce((sum, front) => sum + front.held, 0);
    this.seen = { demand, ready: counts.ready, held };
    const isStatusChanged = this.report.update(
      {
        demand,
        current,
        wanted: this.wanted,
        needed: decision.needed,
        isShort: decision.isShort && decision.wanted < decision.needed,
        isAsleep: sample.replicas.length > 0 && sample.replicas.every(({ asleep }) => asleep),
        abandoned: sample.replicas.reduce((sum, replica) => sum + (replica.abandoned ?? 0), 0),
        reason: decision.reason,
        loadTimeMs: this.loadTimeMs,
      },
      now,
    );
    const isConfigChanged = before !== this.#describeLive();
    return { step, decision, counts, isStatusChanged, isConfigChanged };
  }

  /** From zero, before any sample shows it: a front needs a replica. Returns how many there should be. */
  wake(model: ScaledModel, now: number): number {
    const rules = resolveRules(model.spec, {
      calendar: this.#calendarOf(model.spec.scaling),
      loadTimeMs: this.loadTimeMs,
      now,
    });
    this.wanted = Math.max(1, rules.min);
    this.decidedAt = now;
    this.waitingSince ??= now;
    const { reason } = FIRST_REQUEST;
    const { loadTimeMs, wanted } = this;
    const facts = { demand: 0, current: 0, wanted, needed: wanted, isShort: false, reason, loadTimeMs };
    this.report.update(facts, now);
    return wanted;
  }

  /** Nothing runs or is desired; returns whether the status shows it only now. */
  rest(now: number): boolean {
    this.wanted = 0;
    this.decidedAt = now;
    this.seen = { demand: 0, ready: 0, held: 0 };
    const { loadTimeMs } = this;
    const facts = { demand: 0, current: 0, wanted: 0, needed: 0, isShort: false };
    const { reason } = NO_DEMAND;
    return this.report.update({ ...facts, reason, loadTimeMs }, now);
  }

  /** Whether to request a reconciliation for the step to zero: at once, then occasionally until it is taken. */
  isLeaveDue(now: number): boolean {
    if (now - this.#leaveAskedAt < LEAVE_INTERVAL_MS) return false;
    this.#leaveAskedAt = now;
    return true;
  }

  /** Resets the state, as while it is paused. */
  forget(): void {
    this.#trend = undefined;
    this.#memory = {};
    this.wanted = undefined;
    this.waitingSince = undefined;
    this.sleeping = [];
    this.cordon.lift();
  }

  /** Published to gateways. */
  #describeLive = (): string => [this.loadTimeMs, this.cordon.names().join(), this.sleeping.join()].join(' ');

  #plan(
    { sample, current, now }: ScalingObservation,
    { decision, counts, staying }: { decision: ScaleDecision; counts: PodCounts; staying: V1Pod[] },
  ): Step {
    const { wanted } = decision;
    if (wanted > current || (wanted === current && !decision.isHeld)) this.cordon.lift();
    if (wanted === current) return { what: 'keep' };
    if (wanted > current) return { what: 'write', replicas: wanted };
    if (wanted === 0) {
      const serving = staying.filter(isReady);
      this.cordon.choose(serving, sample.replicas, { count: serving.length, now });
      return this.cordon.isIdle(sample.replicas, now) ? { what: 'leave', replicas: 0 } : { what: 'keep' };
    }
    const ready = staying.filter(({ spec }) => spec?.nodeName !== undefined);
    // Kubernetes removes those without a node first, and those about to be removed do not count as current.
    const surplus = current - wanted - counts.unscheduled - counts.gated;
    if (surplus <= 0) return { what: 'write', replicas: wanted };
    this.cordon.choose(ready, sample.replicas, { count: surplus, now });
    if (!this.cordon.isIdle(sample.replicas, now)) return { what: 'keep' };
    return { what: 'drain', replicas: wanted, pods: this.cordon.waiting() };
  }

  /** `mostMs`: anything longer was not a start, such as a pod first seen while temporarily not ready. */
  #learnLoadTime(staying: readonly V1Pod[], mostMs: number): void {
    const uids = new Set(staying.map(({ metadata }) => metadata!.uid!));
    for (const uid of this.#starts.keys()) if (!uids.has(uid)) this.#starts.delete(uid);
    for (const pod of staying) {
      const uid = pod.metadata!.uid!;
      const start = this.#starts.get(uid);
      const loadMs = measureLoad(pod);
      this.#starts.set(uid, loadMs !== undefined || start === 'ended' ? 'ended' : 'seen');
      if (start === 'seen' && loadMs !== undefined && loadMs > 0 && loadMs <= mostMs)
        this.loadTimeMs =
          this.loadTimeMs === null
            ? loadMs
            : Math.round(loadMs * LOAD_WEIGHT + this.loadTimeMs * (1 - LOAD_WEIGHT));
    }
  }

  #trendOf({ stableMs, panicMs }: { stableMs: number; panicMs: number }): DemandTrend {
    const windows = { stableMs, panicMs, retentionMs: Math.max(stableMs, this.loadTimeMs ?? 0) };
    if (!this.#trend?.fits(windows)) this.#trend = new DemandTrend(windows);
    this.#trend.retain(windows.retentionMs);
    return this.#trend;
  }

  #calendarOf({ schedules }: ModelScaling): Calendar {
    const text = JSON.stringify(schedules);
    if (this.#calendar?.text !== text) this.#calendar = { text, calendar: new Calendar(schedules) };
    return this.#calendar.calendar;
  }
}

const nameOf = ({ metadata }: V1Pod): string => metadata!.name!;

function findHold(live: LiveDeployment, counts: PodCounts, sample: DeploymentSample): string | undefined {
  if (isRolling(live)) return 'a rollout is under way';
  const reporting = sample.replicas.filter(({ draining }) => !draining).length;
  return reporting < counts.ready ? 'not all replicas have reported' : undefined;
}

/** Most deployments at zero need no decision. */
export const isAsleep = ({ spec }: ScaledModel, { replicas, fronts, jobs }: DeploymentSample): boolean =>
  spec.scaling.min === 0 &&
  spec.scaling.schedules.length === 0 &&
  replicas.length + fronts.length + jobs.queued + jobs.running === 0;
