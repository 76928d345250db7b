/**
 * When to check an external resource, a bucket or a URL, and what results mean for its users. Pure. What
 * passed stays in use until enough consecutive checks have failed, since stores and name servers fail transiently.
 */
import { exponentialDelay } from '../../kit/retry.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';

export interface CheckState {
  /** Consecutive failed checks. */
  failures: number;
  /** Unix milliseconds. */
  dueAt: number;
  /** Whether it is used. */
  isPassed: boolean;
  verdict: Verdict;
}

export interface CheckTime {
  /** Unix milliseconds. */
  now: number;
  /** From 0 to 1: spreads the checks of many. */
  random: number;
}

const BACKOFF = { baseMs: 15_000, maxMs: 5 * 60_000 };
const RECHECK_MS = 3_600_000;

/** The initial state: what passed before a restart is checked within the next hour, all else now. */
export function startExternalCheck(
  known: { passed: Verdict | undefined; pending: Verdict },
  { now, random }: CheckTime,
): CheckState {
  const { passed, pending } = known;
  const dueAt = passed ? now + RECHECK_MS * random : now;
  return { failures: 0, dueAt, isPassed: passed !== undefined, verdict: passed ?? pending };
}

export const passCheck = (passed: Verdict, { now, random }: CheckTime): CheckState => ({
  failures: 0,
  dueAt: now + RECHECK_MS * (0.9 + 0.2 * random),
  isPassed: true,
  verdict: passed,
});

/** The front did not respond, so the result of the check is unknown. */
export const postponeCheck = (before: CheckState, reason: string, now: number): CheckState => ({
  ...before,
  dueAt: now + BACKOFF.baseMs,
  verdict: before.isPassed ? before.verdict : verdict('Unknown', 'FrontUnavailable', reason),
});

/** `maxFailures`: consecutive failures that withdraw what passed before. */
export function failCheck(
  before: CheckState,
  { failed, maxFailures }: { failed: Verdict; maxFailures: number },
  now: number,
): CheckState {
  const failures = before.failures + 1;
  const dueAt = now + exponentialDelay(BACKOFF, failures);
  if (!before.isPassed || failures >= maxFailures)
    return { failures, dueAt, isPassed: false, verdict: failed };
  const message = `${failed.message}; it passed before and stays in use unless the failures persist`;
  return { failures, dueAt, isPassed: true, verdict: verdict('True', 'CheckFailed', message) };
}
