/** When an endpoint's URL is checked, and what an answer means for it. Pure. */
import type { CheckURLAnswer } from '../../api/internal-api.ts';
import type { Unanswered } from '../framework/front-question.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';

export type URLAnswer = CheckURLAnswer | Unanswered;

export interface URLState {
  url: string;
  /** Checks in a row that the URL did not pass. */
  failures: number;
  /** Unix milliseconds. */
  dueAt: number;
  /** Whether events go there. */
  isAccepted: boolean;
  verdict: Verdict;
}

const FIRST_RETRY_MS = 15_000;
const LAST_RETRY_MS = 5 * 60_000;
const RECHECK_MS = 3_600_000;
/** After a restart: what passed before is checked again some time within it. */
const RESTART_SPREAD_MS = RECHECK_MS;
/** So many failures in a row take a URL out that passed before: names fail to resolve for moments. */
const PATIENCE = 3;

export const ACCEPTED = verdict('True', 'Accepted', 'the spec is acted on');
const CHECKING = verdict('Unknown', 'Checking', 'the URL is being checked');

/** Of a URL that nothing is known of but what the object's status told before. */
export function beginCheck(url: string, wasAccepted: boolean, at: { now: number; random: number }): URLState {
  const wait = wasAccepted ? RESTART_SPREAD_MS * at.random : 0;
  const known = wasAccepted ? ACCEPTED : CHECKING;
  return { url, failures: 0, dueAt: at.now + wait, isAccepted: wasAccepted, verdict: known };
}

/** `random`: from 0 to 1, spreads the checks of many. */
export function judgeURL(
  before: URLState,
  answer: URLAnswer,
  { now, random }: { now: number; random: number },
): URLState {
  if ('unanswered' in answer)
    return {
      ...before,
      dueAt: now + FIRST_RETRY_MS,
      verdict: before.isAccepted
        ? before.verdict
        : verdict('Unknown', 'FrontUnavailable', `spec.url was not checked yet: ${answer.unanswered}`),
    };
  if (answer.ok) {
    const dueAt = now + RECHECK_MS * (0.9 + 0.2 * random);
    return { ...before, failures: 0, dueAt, isAccepted: true, verdict: ACCEPTED };
  }
  const failures = before.failures + 1;
  const dueAt = now + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(before.failures, 10));
  const words = `spec.url ${answer.message}`;
  if (before.isAccepted && failures < PATIENCE) {
    const doubt = verdict('True', 'CheckFailed', `${words}; it passed before, and is used until this lasts`);
    return { ...before, failures, dueAt, verdict: doubt };
  }
  return { ...before, failures, dueAt, isAccepted: false, verdict: verdict('False', 'InvalidURL', words) };
}
