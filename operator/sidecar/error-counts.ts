/**
 * Responses of a rolled deployment before and since, from the usage counters that every gateway writes to Redis each 10 s:
 * they include counts of replicas that are gone, and of fronts that responded instead (decision 0109).
 */
import type { Log } from '../../kube/log.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { readUsage } from '../../redis/usage/usage.ts';
import type { Candidate, ErrorCount } from './decision.ts';

const MINUTE_MS = 60_000;
const BEFORE_MS = 60 * MINUTE_MS;

export interface ErrorQuestion {
  namespace: string;
  name: string;
  /** Unix milliseconds of the rollout, of when its last pod was ready, and of the end of what counts for it. */
  startedAt: number;
  completedAt: number;
  until: number;
}

export type ErrorReader = (question: ErrorQuestion) => Promise<NonNullable<Candidate['errors']>>;

/** The reader throws while Redis is unavailable. */
export const createErrorReader =
  (redis: RedisClient): ErrorReader =>
  async ({ namespace, name, startedAt, completedAt, until }) => {
    // Counters are by the minute. What failed while pods were replaced is the rollout's doing, not the new sidecar's: the
    // minutes from its start to its end count as neither.
    const begin = Math.floor(startedAt / MINUTE_MS) * MINUTE_MS;
    const end = Math.ceil(Math.max(startedAt, completedAt) / MINUTE_MS) * MINUTE_MS;
    const read = async (from: number, to: number): Promise<ErrorCount> => {
      const question = { namespace, deployments: [name], from, to, stepSeconds: MINUTE_MS / 1000 };
      const { requests, clientErrors, rateLimited, serverErrors } = (await readUsage(redis, question)).total;
      return { requests: requests - clientErrors - rateLimited, errors: serverErrors };
    };
    const [before, after] = await Promise.all([
      read(begin - BEFORE_MS, begin),
      read(end, Math.max(until, end + MINUTE_MS)),
    ]);
    return { before, after };
  };

const NO_REQUESTS: ErrorCount = { requests: 0, errors: 0 };

export interface ErrorCounting {
  readErrors: ErrorReader;
  /** How long a deployment's errors count after its rollout. */
  observeMs: number;
  /** Unix milliseconds. */
  now: number;
  log: Log;
}

/** Sets the errors of rolled candidates. If unknown, the deployment counts as in progress. */
export async function countErrors(
  rolled: readonly Candidate[],
  { readErrors, observeMs, now, log }: ErrorCounting,
): Promise<void> {
  const read = async (candidate: Candidate) => {
    const [namespace = '', name = ''] = candidate.key.split('/');
    const { startedAt } = candidate.progress.rolled!;
    const completedAt = Math.max(startedAt, candidate.progress.progressedAt);
    const until = Math.min(now, completedAt + observeMs);
    candidate.errors = await readErrors({ namespace, name, startedAt, completedAt, until }).catch(
      (error: unknown) => {
        // Its workspace's own Redis user may write unreadable data there: waiting for it would block all.
        if (isRedisAway(error)) throw error;
        const { message: reason } = error as Error;
        log.warn(
          { key: candidate.key, reason },
          'could not read usage of an updated deployment, assuming no requests',
        );
        return { before: NO_REQUESTS, after: NO_REQUESTS };
      },
    );
  };
  // Individually: known errors of others still stop the rollout.
  const results = await Promise.allSettled(rolled.map(read));
  const failure = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (!failure) return;
  const { message: reason } = failure.reason as Error;
  log.warn({ reason }, 'could not read error ratios of updated deployments');
}
