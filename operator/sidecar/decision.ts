/** Which deployments get the new sidecar now, or why none does. Pure. */
import type { RolloutProgress } from './progress.ts';
import type { SidecarRolloutSettings } from './settings.ts';
import { isWindowOpen } from './window.ts';

/** Requests that should have been served, and how many of them failed on the server's side. */
export interface ErrorCount {
  requests: number;
  errors: number;
}

/** A deployment that may be rolled. */
export interface Candidate {
  key: string;
  /** The operator would give its pods a different sidecar, and nothing prevents it. */
  isOutdated: boolean;
  progress: RolloutProgress;
  /** In the hour before its rollout and since its completion; undefined while unknown. */
  errors?: { before: ErrorCount; after: ErrorCount } | undefined;
}

/** A recorded earlier stop. */
export interface StopRecord {
  isStopped: boolean;
  /** Revision of the sidecar concerned: a different one is a new attempt. */
  revision: string;
  reason: string;
  /** Rollouts that started before a resume no longer count. Unix milliseconds. */
  resumedAt: number;
}

export interface RolloutOutcome {
  key: string;
  /** Unix milliseconds at which it was decided. */
  at: number;
  /** Why it failed; undefined if it succeeded. */
  failure: string | undefined;
}

export interface Decision {
  /** To be started now, in this order. */
  start: string[];
  /** In progress, or monitored for errors. */
  rolling: string[];
  failed: RolloutOutcome[];
  outdated: number;
  /** Why nothing is started, until resumed. */
  stop: string | undefined;
}

export interface Question {
  /** All that the installation may roll, outdated or not. */
  candidates: readonly Candidate[];
  record: StopRecord | undefined;
  /** Revision of the operator's current sidecar. */
  revision: string;
  /** Unix milliseconds. */
  now: number;
  settings: SidecarRolloutSettings;
}

type Assessment = 'none' | 'left' | 'rolling' | RolloutOutcome;

export function decideRollout(question: Question): Decision {
  const { candidates, record, revision, now, settings } = question;
  const assessed = candidates.map((candidate) => ({ candidate, assessment: evaluate(candidate, question) }));
  const keysOf = (kind: Assessment) =>
    assessed.flatMap(({ candidate, assessment }) => (assessment === kind ? [candidate.key] : []));
  const rolling = keysOf('rolling');
  const outcomes = assessed.flatMap(({ assessment }) => (typeof assessment === 'object' ? [assessment] : []));
  const failed = outcomes.filter(({ failure }) => failure !== undefined);
  const outdated = assessed.filter(({ candidate }) => candidate.isOutdated);
  const decision = { rolling, failed, outdated: outdated.length };
  const isStopped = record?.isStopped === true && record.revision === revision;
  const stop = isStopped ? record.reason : evaluateOutcomes(outcomes, question);
  if (stop !== undefined) return { ...decision, start: [], stop };
  // They are already disrupted: their older rollout is replaced, regardless of the window.
  const left = outdated
    .filter(({ assessment }) => assessment === 'left')
    .map(({ candidate }) => candidate.key);
  const due = isWindowOpen(settings.window, now)
    ? outdated.filter(({ candidate, assessment }) => assessment !== 'left' && mayStart(candidate, assessment))
    : [];
  const free = Math.max(0, budgetOf(question) - rolling.length - left.length);
  const fresh = due.map(({ candidate }) => candidate.key).sort();
  return { ...decision, start: [...left.sort(), ...fresh.slice(0, free)], stop: undefined };
}

/** A deployment with a problem of its own would only be mistaken for a failure of the sidecar. */
const mayStart = ({ progress }: Candidate, assessment: Assessment): boolean =>
  assessment !== 'rolling' && progress.isComplete && progress.isAvailable;

function budgetOf({ candidates, settings }: Question): number {
  const { maxConcurrent } = settings;
  if ('count' in maxConcurrent) return maxConcurrent.count;
  return Math.max(1, Math.floor((candidates.length * maxConcurrent.percent) / 100));
}

function evaluate({ key, progress, errors }: Candidate, question: Question): Assessment {
  const { rolled, isObserved, isComplete, progressedAt, isStuck } = progress;
  const { revision, record, now, settings } = question;
  const { observeMs, readyTimeoutMs, periodMs } = settings.stop;
  if (!rolled) return 'none';
  if (rolled.revision !== revision) return isObserved && !isComplete ? 'left' : 'none';
  if (!isObserved) return 'rolling';
  // Resumed since: its outcome no longer counts, but while its pods roll it uses its share of the budget.
  const isForgiven = rolled.startedAt < (record?.resumedAt ?? 0);
  const lastProgress = Math.max(rolled.startedAt, progressedAt);
  if (!isComplete) {
    const limit = readyTimeoutMs ?? Number.POSITIVE_INFINITY;
    if (!isStuck && now - lastProgress < limit) return 'rolling';
    if (isForgiven) return 'none';
    const at = isStuck ? lastProgress : lastProgress + limit;
    return { key, at, failure: 'its new pods did not become ready' };
  }
  if (isForgiven) return 'none';
  const endsAt = lastProgress + observeMs;
  // Without a pod nothing was tried.
  if (progress.isIdle || endsAt <= now - periodMs) return 'none';
  const rise = errors && describeRise(errors, settings);
  if (rise !== undefined) return { key, at: Math.min(now, endsAt), failure: rise };
  // Unknown errors do not count as success.
  return now < endsAt || !errors ? 'rolling' : { key, at: endsAt, failure: undefined };
}

function describeRise(
  { before, after }: NonNullable<Candidate['errors']>,
  { stop }: SidecarRolloutSettings,
): string | undefined {
  if (after.requests < stop.minRequests) return undefined;
  const [old, current] = [percentOf(before), percentOf(after)];
  if (current <= old + stop.errorIncrease) return undefined;
  return `its server errors rose from ${old.toFixed(1)} % to ${current.toFixed(1)} % of requests`;
}

const percentOf = ({ requests, errors }: ErrorCount): number =>
  requests <= 0 ? 0 : Math.min(100, Math.max(0, (100 * errors) / requests));

const MAX_NAMED = 5;

function evaluateOutcomes(
  outcomes: readonly RolloutOutcome[],
  { now, settings }: Question,
): string | undefined {
  const { failedPercent, periodMs } = settings.stop;
  const recent = outcomes.filter(({ at }) => at > now - periodMs);
  const failed = recent.filter(({ failure }) => failure !== undefined);
  if (failed.length === 0 || (100 * failed.length) / recent.length <= failedPercent) return undefined;
  const named = failed.slice(0, MAX_NAMED).map(({ key, failure }) => `${key}: ${failure}`);
  const more = failed.length > MAX_NAMED ? `; and ${failed.length - MAX_NAMED} more` : '';
  return `${failed.length} of ${recent.length} updated deployments failed: ${named.join('; ')}${more}`;
}
