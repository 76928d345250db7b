/** How many replicas a deployment should have now, and why (decision 0235). Pure. */
import {
  explainIdleness,
  explainLoad,
  explainMaximum,
  explainPeak,
  explainShortage,
  explainSleep,
  type Reason,
} from './reasons.ts';
import type { ScaleMemory, ScaleQuestion, ScalingRules } from './scale-question.ts';

export interface ScaleDecision extends Reason {
  wanted: number;
  /** The target if there were capacity. */
  needed: number;
  /** The cluster lacks capacity for all that are needed. */
  isShort: boolean;
  /** Scale-down is postponed: preparations for it may stay. */
  isHeld: boolean;
  /** Idle: a single replica may sleep. */
  maySleep: boolean;
  memory: ScaleMemory;
  /** Decide again within this time; undefined: with the next sample. */
  recheckAfterMs: number | undefined;
}

const MIN_LACK_TIMEOUT_MS = 2_000;
const MAX_LACK_TIMEOUT_MS = 60_000;
/** Time before a pod without a node counts as unschedulable. */
const SHORT_AFTER_MS = 120_000;
/** Less queued work than this fraction of a slot is not worth a replica while one is ready. */
const MIN_BACKLOG = 0.5;
/** In standard deviations of a Poisson load: a larger excess over the average is significant. */
const SURGE_DEVIATIONS = 3;
/** Headroom of the first step of a burst, of which little was observed yet. */
const BURST_MARGIN = 1.1;
/** Fraction of the load time that a shortage must last before it is worth a start. */
const LACK_SHARE = 1 / 30;
/** Fraction of the window: a continuing decline takes one step per such period. */
const FALL_SHARE = 0.5;
/** Limit of the factor from engines' own queues. */
const MAX_MULTIPLE = 8;
/** Rounding must not add a replica. */
const EPSILON = 1e-6;

interface Need extends Reason {
  replicas: number;
  /** Scale-down is postponed. */
  isHeld?: boolean;
  maySleep?: boolean;
}

export function decideScale(given: ScaleQuestion): ScaleDecision {
  const asked = { ...given, rules: lowerTarget(given) };
  const { memory, now } = asked;
  const burstSince = isBursting(asked) ? (memory.burstSince ?? now) : undefined;
  const isBurstAnswered = burstSince !== undefined && memory.isBurstAnswered === true;
  const question = { ...asked, memory: { ...memory, burstSince, isBurstAnswered } };
  const up = decideUp(question);
  if (up.replicas > asked.pods.wanted) return admit(question, up);
  const { need, surplusSince } = delayFall(question, decideDown(question, up));
  const { memory: kept, ...decision } = admit(question, need);
  return { ...decision, memory: { ...kept, surplusSince } };
}

/** An engine that is full below the target queues the rest, whatever the slots. */
function lowerTarget({ rules, demand: { engineLimit } }: ScaleQuestion): ScalingRules {
  if (engineLimit === undefined || engineLimit >= rules.target) return rules;
  return { ...rules, target: Math.max(engineLimit, rules.target / MAX_MULTIPLE), isEngineFull: true };
}

const replicasFor = (slots: number, { target }: ScalingRules): number => Math.ceil(slots / target - EPSILON);

const clampTo = ({ min, max }: ScalingRules, replicas: number): number =>
  Math.min(max, Math.max(min, replicas));

/** The replicas that the load requires, whether or not available at once. */
function decideUp(question: ScaleQuestion): Need {
  const { rules, demand, memory } = question;
  const backlog = backlogOf(question);
  const stable = demand.average(rules.stableMs) ?? 0;
  const burst = memory.burstSince === undefined ? 0 : averageOfBurst(question, memory.burstSince);
  const slots = Math.max(stable, burst) + backlog;
  const load = Math.max(replicasFor(slots, rules), demand.isWanted ? 1 : 0);
  const isBurst = burst > stable;
  return {
    replicas: clampTo(rules, load),
    ...explainLoad({ rules, demand, slots, backlog, isBurst, load }),
  };
}

/** The short average shows a burst: it requires twice what is ready, or is statistically significant. */
function isBursting({ rules, demand, pods }: ScaleQuestion): boolean {
  const short = demand.average(rules.panicMs);
  const usual = demand.average(rules.stableMs);
  if (short === undefined || short <= (usual ?? 0)) return false;
  if (replicasFor(short, rules) >= 2 * Math.max(1, pods.ready)) return true;
  return usual !== undefined && short - usual > SURGE_DEVIATIONS * Math.sqrt(Math.max(usual, 1));
}

/** Averaged since its start: the longer it lasts, the more exact, so that one burst makes one step. */
function averageOfBurst({ rules, demand, memory, now }: ScaleQuestion, since: number): number {
  const lastedMs = Math.min(rules.stableMs, now - since);
  const margin = memory.isBurstAnswered ? 1 : BURST_MARGIN;
  return margin * (demand.average(lastedMs > 0 ? lastedMs : rules.panicMs) ?? 0);
}

/** Slots that would clear the queue in time, and before another replica could start. */
function backlogOf({ demand, rules, pods, loadTimeMs }: ScaleQuestion): number {
  const { queued, paceMs } = demand.jobs;
  if (queued === 0) return 0;
  if (paceMs === null) return pods.ready > 0 ? 0 : 1;
  const backlog = (queued * paceMs) / Math.max(rules.targetWaitMs, loadTimeMs ?? 0);
  return backlog < MIN_BACKLOG && pods.ready > 0 ? 0 : Math.ceil(backlog);
}

/** Replicas that may be removed: the peak of the window needs no more, and nothing else prevents it. */
function decideDown(question: ScaleQuestion, up: Need): Need {
  const { rules, demand, pods, loadTimeMs, holdDown } = question;
  const stay = { ...up, replicas: pods.wanted };
  if (pods.wanted <= rules.min) return stay;
  // Waking one does not take a load time.
  const idleForMs = rules.sleeps ? rules.idleMs : Math.max(rules.idleMs, loadTimeMs ?? 0);
  const windowMs = Math.max(rules.stableMs, loadTimeMs ?? 0);
  const peak = demand.peak(windowMs);
  const isHeld = holdDown !== undefined || pods.starting > 0;
  if (pods.wanted > rules.max)
    return isHeld ? { ...stay, isHeld } : { replicas: rules.max, ...explainMaximum(rules.max) };
  if (peak === undefined) return stay;
  if (rules.min === 0 && !demand.isWanted && demand.idleMs >= idleForMs && !isHeld)
    return rules.sleeps
      ? { replicas: 1, maySleep: true, ...explainSleep(demand.idleMs) }
      : { replicas: 0, ...explainIdleness(demand.idleMs) };
  const replicas = Math.max(up.replicas, needAt(peak, rules));
  if (replicas >= pods.wanted) return stay;
  if (isHeld || isRising(question)) return { ...stay, isHeld: true };
  return { replicas, ...explainPeak({ slots: peak, windowMs, replicas, rules }) };
}

/** With headroom of a standard deviation of a Poisson load, or chance would soon undo it; the last replica is removed only by idleness. */
const needAt = (slots: number, rules: ScalingRules): number =>
  clampTo(rules, Math.max(1, replicasFor(slots + Math.sqrt(slots), rules)));

/** An ongoing decline takes one step, at its end. */
function delayFall(question: ScaleQuestion, down: Need): { need: Need; surplusSince: number | undefined } {
  const { rules, demand, pods, memory, loadTimeMs, now } = question;
  if (down.replicas >= pods.wanted) return { need: down, surplusSince: undefined };
  const surplusSince = memory.surplusSince ?? now;
  const current = demand.average(rules.panicMs) ?? 0;
  const isOver = needAt(current, rules) >= down.replicas || pods.wanted > rules.max;
  const isDue = now - surplusSince >= FALL_SHARE * Math.max(rules.stableMs, loadTimeMs ?? 0);
  const need = isOver || isDue ? down : { ...down, replicas: pods.wanted, isHeld: true };
  return { need, surplusSince };
}

function isRising({ rules, demand }: ScaleQuestion): boolean {
  const [short, stable] = [demand.average(rules.panicMs), demand.average(rules.stableMs)];
  return short !== undefined && stable !== undefined && short > stable;
}

/** Limits pods to possible capacity. */
function admit(question: ScaleQuestion, need: Need): ScaleDecision {
  const { pods, memory, mayProbe } = question;
  const { replicas, lackSince, recheckAfterMs } = stepTo(question, need);
  const loaded = pods.ready + pods.starting + pods.broken;
  const owned = loaded + pods.gated;
  const isRefused = pods.unscheduled > 0 && pods.unschedulableMs >= SHORT_AFTER_MS;
  const isShort = need.replicas > owned && (isRefused || memory.isShort === true || !mayProbe);
  // Only pods without a fitting node are withdrawn; one stays, visible to a cluster autoscaler and ready for a freed GPU.
  const capacity = isShort ? owned + (mayProbe ? 1 : 0) : Number.POSITIVE_INFINITY;
  const wanted = Math.min(replicas, capacity);
  const reason = { reason: need.reason, cause: need.cause };
  return {
    wanted,
    needed: need.replicas,
    isShort,
    isHeld: need.isHeld === true,
    maySleep: need.maySleep === true,
    ...(isShort && wanted < need.replicas ? explainShortage(need.replicas, loaded) : reason),
    memory: {
      burstSince: memory.burstSince,
      isBurstAnswered: memory.burstSince !== undefined && (memory.isBurstAnswered || wanted > pods.wanted),
      isShort,
      lackSince: wanted < need.replicas ? lackSince : undefined,
    },
    recheckAfterMs,
  };
}

/** Down at once; up once a shortage has lasted, from zero and below the minimum immediately. */
function stepTo({ rules, pods, memory, loadTimeMs, now }: ScaleQuestion, { replicas }: Need) {
  if (replicas <= pods.wanted) return { replicas };
  const lackSince = memory.lackSince ?? now;
  const leastMs = memory.isBurstAnswered ? rules.panicMs : MIN_LACK_TIMEOUT_MS;
  const timeoutMs = Math.min(MAX_LACK_TIMEOUT_MS, Math.max(leastMs, (loadTimeMs ?? 0) * LACK_SHARE));
  const leftMs = lackSince + timeoutMs - now;
  if (leftMs <= 0) return { replicas, lackSince };
  const atOnce = Math.max(rules.min, pods.wanted === 0 ? 1 : pods.wanted);
  return { replicas: Math.min(replicas, atOnce), lackSince, recheckAfterMs: leftMs };
}
