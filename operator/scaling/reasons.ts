/** Why a deployment has so many replicas: a sentence with the numbers, and a label for metrics. Pure. */
import type { DemandReading } from '../../redis/demand/demand-trend.ts';

export type Cause =
  | 'wake'
  | 'demand'
  | 'burst'
  | 'queue'
  | 'minimum'
  | 'maximum'
  | 'idle'
  | 'shortage'
  | 'paused';

export interface Reason {
  /** One sentence with the numbers. */
  reason: string;
  cause: Cause;
}

export const FIRST_REQUEST: Reason = { reason: 'a request waits for the first replica', cause: 'wake' };
export const NO_DEMAND: Reason = { reason: 'no demand', cause: 'idle' };

interface Target {
  /** Slots of demand per replica. */
  target: number;
  /** Limited to what engines run concurrently. */
  isEngineFull?: boolean;
}

export interface ExplainedLoad {
  rules: Target & { min: number; max: number; stableMs: number };
  demand: Pick<DemandReading, 'jobs' | 'isWanted' | 'queuedInEngines'>;
  /** Slots of demand, and the queue's part of these. */
  slots: number;
  backlog: number;
  isBurst: boolean;
  /** Replicas for it. */
  load: number;
}

export function explainLoad({ rules, demand, slots, backlog, isBurst, load }: ExplainedLoad): Reason {
  const { queued, paceMs } = demand.jobs;
  if (load < rules.min) return explainMinimum(rules.min);
  const cap = load > rules.max ? `, at most ${rules.max} allowed` : '';
  const needs = `needs ${countReplicas(load)} ${describeTarget(rules, demand.queuedInEngines)}${cap}`;
  if (backlog > 0) {
    const work = paceMs === null ? '' : ` (${formatSpan(queued * paceMs)} of work)`;
    return { reason: `demand ${round(slots)} with ${queued} queued${work} ${needs}`, cause: 'queue' };
  }
  if (slots <= 0) return demand.isWanted ? FIRST_REQUEST : NO_DEMAND;
  const window = isBurst ? 'in a burst' : `average of ${formatSpan(rules.stableMs)}`;
  return { reason: `demand ${round(slots)} (${window}) ${needs}`, cause: isBurst ? 'burst' : 'demand' };
}

export const explainMinimum = (min: number): Reason => ({
  reason: `at least ${countReplicas(min)} configured`,
  cause: 'minimum',
});

export const explainMaximum = (max: number): Reason => ({
  reason: `at most ${countReplicas(max)} allowed`,
  cause: 'maximum',
});

export const explainIdleness = (idleMs: number): Reason => ({
  reason: `idle for ${formatSpan(idleMs)}`,
  cause: 'idle',
});

export const explainSleep = (idleMs: number): Reason => ({
  reason: `idle for ${formatSpan(idleMs)}: the last replica sleeps`,
  cause: 'idle',
});

export function explainPeak(peak: {
  slots: number;
  windowMs: number;
  replicas: number;
  rules: Target;
}): Reason {
  const needs = `needs ${countReplicas(peak.replicas)} ${describeTarget(peak.rules)}`;
  return {
    reason: `peak demand ${round(peak.slots)} of the last ${formatSpan(peak.windowMs)} ${needs}`,
    cause: 'demand',
  };
}

export const explainShortage = (wanted: number, loaded: number): Reason => ({
  reason: `needs ${wanted}, has ${loaded}: the cluster has no capacity for more`,
  cause: 'shortage',
});

/** `queued`: requests that wait within engines now. */
function describeTarget({ target, isEngineFull }: Target, queued = 0): string {
  const each = `at ${round(target)} each`;
  if (!isEngineFull) return each;
  const others = queued > 0 ? `; ${queued} wait within engines` : '';
  return `${each} (an engine runs no more at a time${others})`;
}

const countReplicas = (replicas: number): string => `${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`;

const round = (value: number): string => String(Math.round(value * 10) / 10);

/** `40 s`, `4 min`, `2 h`: as exact as a sentence needs. */
function formatSpan(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
