/** Has a front check an endpoint's URL, with the rules and resolver of deliveries, and interprets the result. */
import { type CheckURLAnswer, type CheckURLQuestion, INTERNAL_PATHS } from '../../api/internal-api.ts';
import {
  type CheckState,
  type CheckTime,
  failCheck,
  passCheck,
  postponeCheck,
  startExternalCheck,
} from '../framework/external-check.ts';
import {
  createFrontCheck,
  type FrontAddress,
  type FrontCheck,
  type Unanswered,
} from '../framework/front-client.ts';
import { ACCEPTED, verdict } from '../status/condition-list.ts';

export type URLChecker = FrontCheck<CheckURLQuestion, CheckURLAnswer>;

export const createURLChecker = (front: FrontAddress): URLChecker =>
  createFrontCheck(front, { path: INTERNAL_PATHS.checkURL, isAnswer });

function isAnswer(body: unknown): body is CheckURLAnswer {
  const { ok, message } = (body ?? {}) as Partial<CheckURLAnswer>;
  return typeof ok === 'boolean' && typeof message === 'string';
}

/** So many consecutive failures withdraw a URL that passed before. */
const MAX_FAILURES = 3;
const CHECKING = verdict('Unknown', 'Checking', 'spec.url is being checked');

/** `wasAccepted`: by the object's status, before a restart. */
export const startURLCheck = (wasAccepted: boolean, time: CheckTime): CheckState =>
  startExternalCheck({ passed: wasAccepted ? ACCEPTED : undefined, pending: CHECKING }, time);

export function evaluateURL(
  before: CheckState,
  answer: CheckURLAnswer | Unanswered,
  time: CheckTime,
): CheckState {
  if ('unanswered' in answer)
    return postponeCheck(before, `spec.url was not checked yet: ${answer.unanswered}`, time.now);
  if (answer.ok) return passCheck(ACCEPTED, time);
  const failed = verdict('False', 'InvalidURL', `spec.url ${answer.message}`);
  return failCheck(before, { failed, maxFailures: MAX_FAILURES }, time.now);
}
