/** What is refused by a key and its limits, in one order for replicas and fronts (docs/api.md, "Authentication", "Limits"). Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Admission, AdmissionVerdict } from '../../redis/admission/admission-calls.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import { findForeignDeployment, refuseBudget } from './key-scope.ts';

/** As in `admission.lua`. */
const LEASE_PARTS = 256;
const BEARER = /^bearer +(.*)$/i;

/** The key as OpenAI's SDKs send it, or as Anthropic's do. Throws ApiError 401 without one (docs/api.md, "Authentication"). */
export function readApiKey(headers: IncomingHttpHeaders): string {
  const { authorization, 'x-api-key': own } = headers;
  const key = authorization === undefined ? String(own ?? '') : BEARER.exec(authorization)?.[1];
  const trimmed = key?.trim();
  if (trimmed) return trimmed;
  throw new ApiError(
    'invalid_api_key',
    'Send the header "Authorization: Bearer <API_KEY>", or "x-api-key: <API_KEY>".',
  );
}

/** null: the key itself is valid. A verdict that is not here, from another library, refuses the key. */
const KEY_FAULTS: Record<AdmissionVerdict, string | null> = {
  ok: null,
  credit: null,
  tpd: null,
  rpm: null,
  expired: 'has expired',
  disabled: 'is disabled',
  unknown_key: 'is not valid for this endpoint',
};

export interface AdmissionTerms {
  /** Name of the deployment that is called; absent: any. */
  deployment?: string | undefined;
  /** Whether the request may use tokens or credit. */
  spends: boolean;
  /** Whether its work will, so that credit and budgets must have something left. */
  spendsLater?: boolean | undefined;
  /** What tells whether the minute has room: the verdict, of an admission that has counted the request, or what remains of the minute. */
  minute: 'verdict' | 'remaining';
  /** The key's tokens, and millionths, that Redis has not counted yet. */
  unsettled?: number;
  unsettledMicros?: number;
  /** Unix milliseconds. */
  now: number;
}

/** The key, budgets, credit, tokens of the day, then requests of the minute, as in the Redis function `admit`. null: nothing is refused. */
export function decideAdmission(admission: Admission, terms: AdmissionTerms): ApiError | null {
  const { verdict, rpm, tpd, retryAfter } = admission;
  const { spends, spendsLater = false, minute, unsettled = 0, unsettledMicros = 0, now } = terms;
  // By Redis' clock where it is Redis that refused.
  const secondsUntil = (limit: 'tpd' | 'rpm', resetAt: number) =>
    verdict === limit ? retryAfter : Math.max(1, resetAt - Math.floor(now / 1_000));
  const refusedKey = findRefusedKey(admission, terms.deployment);
  if (refusedKey) return refusedKey;
  const usedUp = spends || spendsLater ? findUsedUp(admission, unsettledMicros) : null;
  if (usedUp) return usedUp;
  if (spends && tpd.used + unsettled >= tpd.limit) {
    const seconds = secondsUntil('tpd', tpd.resetAt);
    return refuseRate(`${tpd.limit} tokens per day; it resets in ${seconds} s`, seconds, tpd.resetAt);
  }
  if (minute === 'verdict' ? verdict === 'rpm' : rpm.remaining === 0) {
    const seconds = secondsUntil('rpm', rpm.resetAt);
    return refuseRate(`${rpm.limit} requests per minute; try again in ${seconds} s`, seconds, rpm.resetAt);
  }
  return null;
}

/** null: the key's budgets and the workspace's credit have something left. */
export function findUsedUp({ creditLeft, budgets }: Admission, unsettledMicros = 0): ApiError | null {
  if (budgets && unsettledMicros >= budgets.leftMicros) return refuseBudget(budgets.tightest);
  return creditLeft ? null : refuseCredit();
}

/** `deployment`: as in `AdmissionTerms`. */
export function findRefusedKey({ verdict, deployments }: Admission, deployment?: string): ApiError | null {
  const fault = verdict in KEY_FAULTS ? KEY_FAULTS[verdict] : KEY_FAULTS.unknown_key;
  if (fault !== null) return refuseKey(fault);
  return deployment === undefined ? null : findForeignDeployment(deployments, deployment);
}

/** Requests left in this window, and when the tighter of both limits resets. */
export function buildLimitHeaders({ rpm, tpd }: Admission): string[] {
  const isDayTighter = (tpd.limit - tpd.used) * rpm.limit < rpm.remaining * tpd.limit;
  return formatLimitHeaders(rpm.remaining, isDayTighter ? tpd.resetAt : rpm.resetAt);
}

/**
 * What a leased request is told. No rule is exact without a call: during the lease, others may take nothing, or all that is left. So
 * three times the largest lease is set aside for them. Alone, a gateway never tells too much, and at most a 64th too little; with
 * others, too little by their unused leases, too, and too much only if they take more than 3 parts in 256 during the 100 ms of a lease.
 */
export function leaveToOthers({ rpm, ...rest }: Admission): Admission {
  return {
    ...rest,
    rpm: { ...rpm, remaining: rpm.remaining - Math.floor((3 * rpm.remaining) / LEASE_PARTS) },
  };
}

const formatLimitHeaders = (remaining: number, resetAt: number): string[] => [
  'x-ratelimit-remaining',
  String(remaining),
  'x-ratelimit-reset',
  String(resetAt),
];

const refuseRate = (limit: string, retryAfter: number, resetAt: number) =>
  new ApiError('rate_limit_exceeded', `This API key has reached its limit of ${limit}.`, {
    retryAfter,
    headers: formatLimitHeaders(0, resetAt),
  });
export const refuseKey = (fault: string) => new ApiError('invalid_api_key', `The API key ${fault}.`);
export const refuseCredit = () => refuseAsUnavailable('credit', "The workspace's credit is used up.");
