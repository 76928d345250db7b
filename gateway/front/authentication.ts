/** Authenticates callers of the front; Redis counts nothing, since nothing is served. */
import type { IncomingHttpHeaders } from 'node:http';
import { hashApiKey } from '../../api/identity.ts';
import { type Admission, admit, type Verdict } from '../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import { buildRefusal } from '../auth/admission.ts';
import { readApiKey } from '../auth/authentication.ts';
import { ApiError } from '../http/error-response.ts';
import type { Route } from '../http/routes.ts';
import type { CallerMinutes } from './demand/caller-minutes.ts';

const REFUSALS: Partial<Record<Verdict, string>> = {
  expired: 'has expired',
  disabled: 'is disabled',
  unknown_key: 'is not valid for this endpoint',
};

export interface Caller {
  /** Of its key. */
  sha256: string;
  admission: Admission;
}

/** Throws ApiError 401, or Redis' own error while it is away (docs/api.md, "Authentication"). */
export async function authenticate(
  redis: RedisClient,
  namespace: string,
  headers: IncomingHttpHeaders,
): Promise<Caller> {
  const sha256 = hashApiKey(readApiKey(headers));
  const admission = await admit(redis, { namespace, sha256, counted: 'no' });
  const refusal = REFUSALS[admission.verdict];
  if (refusal) throw new ApiError('invalid_api_key', `The API key ${refusal}.`);
  return { sha256, admission };
}

/**
 * Throws what a replica would: who is over a limit starts none. What is refused or held counts against RPM at this front,
 * until what is returned is called because a replica counts it.
 */
export function requireAdmissible(
  { sha256, admission }: Caller,
  { spendsNothing }: Pick<Route, 'spendsNothing'>,
  callers: CallerMinutes,
): () => void {
  const { creditLeft, rpm, tpd } = admission;
  const secondsUntil = (resetAt: number) => Math.max(1, resetAt - Math.floor(Date.now() / 1_000));
  if (!spendsNothing && !creditLeft) throw buildRefusal({ ...admission, verdict: 'credit' });
  if (!spendsNothing && tpd.used >= tpd.limit)
    throw buildRefusal({ ...admission, verdict: 'tpd', retryAfter: secondsUntil(tpd.resetAt) });
  if (rpm.remaining === 0)
    throw buildRefusal({ ...admission, verdict: 'rpm', retryAfter: secondsUntil(rpm.resetAt) });
  const counting = callers.count(sha256, rpm.remaining);
  if ('uncount' in counting) return counting.uncount;
  throw buildRefusal({ ...admission, verdict: 'rpm', retryAfter: counting.retryAfter });
}
