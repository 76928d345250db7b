/** Has a front check a bucket with a credential's keys, and interprets the result for users of the bucket. */
import { INTERNAL_PATHS, type VerifyAnswer, type VerifyQuestion } from '../../api/internal-api.ts';
import {
  type CheckState,
  type CheckTime,
  failCheck,
  passCheck,
  postponeCheck,
} from '../framework/external-check.ts';
import {
  createFrontCheck,
  type FrontAddress,
  type FrontCheck,
  type Unanswered,
} from '../framework/front-client.ts';
import { verdict } from '../status/condition-list.ts';

export type BucketChecker = FrontCheck<VerifyQuestion, VerifyAnswer>;

export const createBucketChecker = (front: FrontAddress): BucketChecker =>
  createFrontCheck(front, { path: INTERNAL_PATHS.verify, isAnswer });

function isAnswer(body: unknown): body is VerifyAnswer {
  const { verified, reason, message } = (body ?? {}) as Partial<VerifyAnswer>;
  return typeof verified === 'boolean' && typeof reason === 'string' && typeof message === 'string';
}

/** So many consecutive failures withdraw a working bucket: after about 4 minutes. */
const MAX_FAILURES = 5;
/** Transient reasons, which are not about the keys or the bucket. */
const TRANSIENT = ['Unreachable', 'Slow', 'Failed'];

export const VERIFYING = verdict(
  'Unknown',
  'Verifying',
  'checking the bucket: writing and reading a small object through signed links, and deleting it',
);

export function evaluateBucket(
  before: CheckState,
  answer: VerifyAnswer | Unanswered,
  { bucket, ...time }: CheckTime & { bucket: string },
): CheckState {
  if ('unanswered' in answer)
    return postponeCheck(before, `bucket ${bucket} was not checked yet: ${answer.unanswered}`, time.now);
  if (answer.verified)
    return passCheck(
      verdict(
        'True',
        'Verified',
        `a put and a get through signed links and a delete in bucket ${bucket} succeeded`,
      ),
      time,
    );
  const failed = verdict('False', answer.reason, `bucket ${bucket} ${answer.message}`);
  const maxFailures = TRANSIENT.includes(answer.reason) ? MAX_FAILURES : 1;
  return failCheck(before, { failed, maxFailures }, time.now);
}
