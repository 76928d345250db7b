/** Authenticates callers of the front, and counts their refused and held requests. */
import type { IncomingHttpHeaders } from 'node:http';
import { hashApiKey } from '../../api/identity.ts';
import type { DeploymentName } from '../../api/names.ts';
import { type Admission, admit, uncountWaiting } from '../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../redis/client.ts';
import { decideAdmission, findRefusedKey, readApiKey } from '../auth/admission-decision.ts';
import type { ApiError } from '../http/error-response.ts';
import type { Route } from '../http/routes.ts';

export interface IdentifiedCaller {
  namespace: string;
  /** Hash of its key. */
  sha256: string;
  admission: Admission;
}

/** Throws ApiError 401 or 403, or Redis' own error while it is down (docs/api.md, "Authentication"). */
export async function identifyCaller(
  redis: RedisClient,
  { namespace, name }: DeploymentName,
  headers: IncomingHttpHeaders,
): Promise<IdentifiedCaller> {
  const sha256 = hashApiKey(readApiKey(headers));
  const admission = await admit(redis, { namespace, sha256, counted: 'no' });
  const refusal = findRefusedKey(admission, name);
  if (refusal) throw refusal;
  return { namespace, sha256, admission };
}

/**
 * Throws what a replica would: a caller over a limit starts none. Refused and held requests count against RPM at all fronts
 * together, until the returned function is called because a replica counts it.
 */
export async function requireAdmissible(
  redis: RedisClient,
  caller: IdentifiedCaller,
  route: Pick<Route, 'spendsNothing'>,
): Promise<() => void> {
  const refusal = findRefusal(caller, route);
  if (refusal) throw refusal;
  const counted = await countWaitingRequest(redis, caller);
  const late = decideAdmission(counted, { spends: false, minute: 'verdict', now: Date.now() });
  if (late) throw late;
  const { namespace, sha256 } = caller;
  let isCounted = true;
  return () => {
    // A request that stays counted is harmless.
    if (isCounted) uncountWaiting(redis, { namespace, sha256, resetAt: counted.rpm.resetAt }).catch(() => {});
    isCounted = false;
  };
}

/** Counts one request that no replica has counted; refused where the key has as many as its RPM. */
export const countWaitingRequest = (
  redis: RedisClient,
  { namespace, sha256 }: IdentifiedCaller,
): Promise<Admission> => admit(redis, { namespace, sha256, counted: 'waiting' });

/** A replica's error for a caller over a limit; null for others. */
export const findRefusal = (
  { admission }: IdentifiedCaller,
  { spendsNothing }: Pick<Route, 'spendsNothing'>,
): ApiError | null =>
  decideAdmission(admission, { spends: !spendsNothing, minute: 'remaining', now: Date.now() });
