/** One deployment that is scaled: what is remembered of it between two looks, and how a decision is carried out. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ModelScaling } from '../../api/model-scaling.ts';
import { parseDuration } from '../../api/quantity.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { isRolling } from '../resources/rolling.ts';
import { Calendar } from '../resources/schedules.ts';
import { Cordon } from './cordon.ts';
import { decideScale, type PodCounts, type ScaleDecision, type ScaleMemory } from './decision.ts';
import { DemandTrend } from './demand-trend.ts';
import { countPods, listStaying, measureLoad } from './pods.ts';
import type { LiveDeployment } from './replica-writer.ts';
import { resolveRules } from './rules.ts';
import { readLoadTime, StatusReport } from './scaling-status.ts';

export type ScaledModel = ModelDeployment & { spec: { scaling: ModelScaling } };

/** What one look sees. */
export interface Look {
  model: ScaledModel;
  live: LiveDeployment;
  pods: readonly V1Pod[];
  sample: DeploymentSample;
  /** Replicas that the Deployment has now. */
  current: number;
  mayProbe: boolean;
  /** Unix milliseconds. */
  now: number;
}

/** To be done about a decision; `write`: at once; `drain`: when these pods are idle; `leave`: once the front stands in. */
export type Step =
  | { what: 'keep' }
  | { what: 'write' | 'leave'; replicas: number }
  | { what: 'drain'; replicas: number; pods: string[] };

export interface Looked {
  step: Step;
  decision: ScaleDecision;
  counts: PodCounts;
  /** The status, or what gateways are told, is another now. */
  isStatusChanged: boolean;
  isConfigChanged: boolean;
}

/** Of a start beside the engine's own: images, weights. */
const START_MARGIN_MS = 600_000;
/** How much the last start counts, the rest being those before. */
const LOAD_WEIGHT = 0.5;

export class ScaledDeployment {
  readonly uid: string;
  readonly cordon = new Cordon();
  readonly report: StatusReport;
  loadTimeMs: number | null;
  /** Replicas that are wanted; undefined until the first decision. */
  wanted: number | undefined;
  /** Unix milliseconds since when it needs more than has a node; undefined while it does not. */
  waitingSince: number | undefined;
  #trend: DemandTrend | undefined;
  #memory: ScaleMemory = {};
  #calendar: { text: string; calendar: Calendar } | undefined;
  /** Pods that were seen before they were ready, by uid: theirs is a whole start. */
  readonly #starting = new Set<string>();

  constructor({ metadata, status }: ModelDeployment) {
    this.uid = metadata.uid;
    this.report = new StatusReport(status.scaling);
    this.loadTimeMs = readLoadTime(status.scaling);
  }

  /** Takes a sample and decides; `look.current` is not changed yet. */
  decide(look: Look): Looked {
    const { model, live, sample, current, mayProbe, now } = look;
    const staying = listStaying(look.pods);
    const before = { loadTimeMs: this.loadTimeMs, cordoned: this.cordon.names().join() };
    this.#learnLoadTime(staying);
    this.cordon.prune(staying, now);
    const rules = resolveRules(model.spec, {
      calendar: this.#calendarOf(model.spec.scaling),
      loadTimeMs: this.loadTimeMs,
      now,
    });
    const trend = this.#trendOf(rules);
    trend.add(sample);
    const startMs = parseDuration(model.spec.engine.startupTimeout) + START_MARGIN_MS;
    const counts = countPods(staying, { wanted: current, startMs, now });
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
    const loaded = counts.ready + counts.starting + counts.broken;
    this.waitingSince = decision.needed > loaded ? (this.waitingSince ?? now) : undefined;
    const step = this.#plan(look, { decision, counts, staying });
    this.wanted = step.what === 'keep' ? current : step.replicas;
    const isStatusChanged = this.report.update(
      {
        demand: trend.average(rules.stableMs) ?? trend.average(rules.panicMs) ?? 0,
        wanted: this.wanted,
        needed: decision.needed,
        isShort: decision.isShort && decision.wanted < decision.needed,
        reason: decision.reason,
        loadTimeMs: this.loadTimeMs,
      },
      now,
    );
    const isConfigChanged =
      before.loadTimeMs !== this.loadTimeMs || before.cordoned !== this.cordon.names().join();
    return { step, decision, counts, isStatusChanged, isConfigChanged };
  }

  /** From zero, before any sample tells: a front wants a replica. Answers how many there are to be. */
  wake(model: ScaledModel, now: number): number {
    const rules = resolveRules(model.spec, {
      calendar: this.#calendarOf(model.spec.scaling),
      loadTimeMs: this.loadTimeMs,
      now,
    });
    this.wanted = Math.max(1, rules.min);
    this.waitingSince ??= now;
    const reason = 'a request waits for the first replica';
    const { loadTimeMs, wanted } = this;
    this.report.update({ demand: 0, wanted, needed: wanted, isShort: false, reason, loadTimeMs }, now);
    return wanted;
  }

  /** Nothing is known from here on, as while it is paused. */
  forget(): void {
    this.#trend = undefined;
    this.#memory = {};
    this.wanted = undefined;
    this.waitingSince = undefined;
    this.cordon.lift();
  }

  #plan(
    { sample, current, now }: Look,
    { decision, counts, staying }: { decision: ScaleDecision; counts: PodCounts; staying: V1Pod[] },
  ): Step {
    const { wanted } = decision;
    if (wanted > current || (wanted === current && !decision.isHeld)) this.cordon.lift();
    if (wanted === current) return { what: 'keep' };
    if (wanted > current) return { what: 'write', replicas: wanted };
    if (wanted === 0) return { what: 'leave', replicas: 0 };
    // Those without a node are the first that Kubernetes removes.
    const surplus = current - wanted - counts.unscheduled;
    if (surplus <= 0) return { what: 'write', replicas: wanted };
    const ready = staying.filter(({ spec }) => spec?.nodeName !== undefined);
    this.cordon.choose(ready, sample.replicas, { count: surplus, now });
    if (!this.cordon.isIdle(sample.replicas, now)) return { what: 'keep' };
    return { what: 'drain', replicas: wanted, pods: this.cordon.waiting() };
  }

  #learnLoadTime(staying: readonly V1Pod[]): void {
    const uids = new Set(staying.map(({ metadata }) => metadata!.uid!));
    for (const uid of this.#starting) if (!uids.has(uid)) this.#starting.delete(uid);
    for (const pod of staying) {
      const uid = pod.metadata!.uid!;
      const loadMs = measureLoad(pod);
      if (loadMs === undefined) this.#starting.add(uid);
      else if (this.#starting.delete(uid) && loadMs > 0)
        this.loadTimeMs =
          this.loadTimeMs === null
            ? loadMs
            : Math.round(loadMs * LOAD_WEIGHT + this.loadTimeMs * (1 - LOAD_WEIGHT));
    }
  }

  #trendOf({ stableMs, panicMs }: { stableMs: number; panicMs: number }): DemandTrend {
    const windows = { stableMs, panicMs, retentionMs: Math.max(stableMs, this.loadTimeMs ?? 0) };
    if (!this.#trend?.fits(windows)) this.#trend = new DemandTrend(windows);
    return this.#trend;
  }

  #calendarOf({ schedules }: ModelScaling): Calendar {
    const text = JSON.stringify(schedules);
    if (this.#calendar?.text !== text) this.#calendar = { text, calendar: new Calendar(schedules) };
    return this.#calendar.calendar;
  }
}

function findHold(live: LiveDeployment, counts: PodCounts, sample: DeploymentSample): string | undefined {
  if (isRolling(live)) return 'a rollout is under way';
  const heard = sample.replicas.filter(({ draining }) => !draining).length;
  return heard < counts.ready ? 'not all replicas have reported' : undefined;
}
