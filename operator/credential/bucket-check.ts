/** When a bucket is tried, and what an answer means for those who use it. Pure. */
import type { VerifyAnswer } from '../../api/internal-api.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';

/** What the front said; or that it could not be asked, which says nothing of the bucket. */
export type CheckAnswer = VerifyAnswer | { unanswered: string };

export interface CheckState {
  /** Checks in a row in which the store failed. */
  failures: number;
  /** Unix milliseconds. */
  dueAt: number;
  verified: boolean;
  verdict: Verdict;
}

const FIRST_RETRY_MS = 15_000;
const LAST_RETRY_MS = 5 * 60_000;
const RECHECK_MS = 3_600_000;
/** So many failures in a row take a bucket away that worked: after about 4 minutes. */
const PATIENCE = 5;
/** Reasons that speak of a moment, not of the keys or the bucket. */
const PASSING = ['Unreachable', 'Slow', 'Failed'];

export interface CheckedBucket {
  bucket: string;
  now: number;
  /** From 0 to 1: spreads the checks of many. */
  random: number;
}

export function judgeCheck(before: CheckState, answer: CheckAnswer, checked: CheckedBucket): CheckState {
  const { bucket, now, random } = checked;
  if ('verified' in answer && answer.verified)
    return {
      failures: 0,
      dueAt: now + RECHECK_MS * (0.9 + 0.2 * random),
      verified: true,
      verdict: verdict('True', 'Verified', `a put, a get and a delete in bucket ${bucket} succeeded`),
    };
  if ('unanswered' in answer)
    return {
      ...before,
      dueAt: now + FIRST_RETRY_MS,
      verdict: before.verified
        ? before.verdict
        : verdict('Unknown', 'FrontUnavailable', `bucket ${bucket} was not tried yet: ${answer.unanswered}`),
    };
  const failures = before.failures + 1;
  const retryMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(before.failures, 10));
  const next = { failures, dueAt: now + retryMs, verified: before.verified };
  const words = `bucket ${bucket} ${answer.message}`;
  if (before.verified && PASSING.includes(answer.reason) && failures < PATIENCE)
    return {
      ...next,
      verdict: verdict('True', 'CheckFailed', `${words}; it worked before, and is used until this lasts`),
    };
  return { ...next, verified: false, verdict: verdict('False', answer.reason, words) };
}

export const VERIFYING = verdict('Unknown', 'Verifying', 'a small object is put, read and deleted');
