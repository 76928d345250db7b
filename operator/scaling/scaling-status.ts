/** Scaling in a deployment's status: each change at once, the demand occasionally. */
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { parseDuration } from '../../api/quantity.ts';
import { formatTime } from '../../kube/time.ts';

export type ScalingStatus = NonNullable<ModelDeploymentStatus['scaling']>;

/** Traffic-dependent status is written at most once a minute. */
const DEMAND_INTERVAL_MS = 60_000;
/** Changes of the demand below this share are not worth a write. */
const DEMAND_SHARE = 0.25;

export interface ScalingFacts {
  demand: number;
  /** Replicas before this decision. */
  current: number;
  wanted: number;
  needed: number;
  isShort: boolean;
  /** The engine of its only replica sleeps. */
  isAsleep?: boolean;
  /** Abandoned jobs that engines still work on. */
  abandoned?: number;
  reason: string;
  loadTimeMs: number | null;
}

export class StatusReport {
  #status: ScalingStatus | undefined;
  #demandAt = 0;

  /** Left by an earlier operator. */
  constructor(status: ScalingStatus | undefined) {
    this.#status = status;
  }

  get current(): ScalingStatus | undefined {
    return this.#status;
  }

  /** Applies a decision; returns whether the status changed. `now`: Unix milliseconds. */
  update(facts: ScalingFacts, now: number): boolean {
    const before = this.#status;
    const { wanted, needed, isShort, isAsleep = false, abandoned = 0, reason } = facts;
    // Asleep, it has no status before its first request.
    const from = before?.wanted ?? facts.current;
    const isChanged = from !== wanted;
    const isRenewed =
      isChanged ||
      before === undefined ||
      before.needed !== needed ||
      (before.short ?? false) !== isShort ||
      (before.asleep ?? false) !== isAsleep ||
      (before.abandoned ?? 0) !== abandoned;
    const isDue = now - this.#demandAt >= DEMAND_INTERVAL_MS;
    const demand = Math.round(facts.demand * 10) / 10;
    const takesDemand = isRenewed || (isDue && isWorthwhile(before.demand, demand));
    if (takesDemand) this.#demandAt = now;
    const lastChange = isChanged
      ? { at: formatTime(new Date(now)), from, to: wanted, reason }
      : before?.lastChange;
    const loadTime = facts.loadTimeMs === null ? undefined : formatLoadTime(facts.loadTimeMs);
    this.#status = {
      demand: takesDemand ? demand : (before?.demand ?? demand),
      wanted,
      needed,
      reason: isRenewed ? reason + describeAbandoned(abandoned) : (before?.reason ?? reason),
      ...(isShort && { short: true }),
      ...(isAsleep && { asleep: true }),
      ...(abandoned > 0 && { abandoned }),
      ...(loadTime !== undefined && { loadTime }),
      ...(lastChange && { lastChange }),
    };
    return takesDemand || before?.loadTime !== loadTime;
  }
}

const isWorthwhile = (before: number, now: number): boolean =>
  Math.abs(now - before) > DEMAND_SHARE * Math.max(before, now, 0.4);

const describeAbandoned = (jobs: number): string =>
  jobs === 0
    ? ''
    : `; the GPU is still busy with ${jobs} ${jobs === 1 ? 'request' : 'requests'} that timed out`;

/** As a duration of the API: whole seconds, or milliseconds if that is too coarse. */
const formatLoadTime = (ms: number): string =>
  ms >= 10_000 ? `${Math.round(ms / 1_000)}s` : `${Math.round(ms)}ms`;

/** null if none is written yet. */
export const readLoadTime = (status: ScalingStatus | undefined): number | null =>
  status?.loadTime === undefined ? null : parseDuration(status.loadTime) || null;
