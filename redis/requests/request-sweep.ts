/** Expires leases, deadlines and old records, and ends the requests of deleted deployments. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS } from '../function-table.ts';

export interface SweepResult {
  /** Expired, timed out, permanently lost, or canceled with their deployment; each has its event. */
  ended: number;
  /** Waiting for their second attempt. */
  released: number;
  /** Ended long ago, now removed. */
  forgotten: number;
  /** Call again at once. */
  more: boolean;
}

export interface SweepOptions {
  /** Unix ms by Redis' clock, until when leases and queued requests may expire; 0 = they may not (`createExpiryGate`). */
  expireUntil: number;
  limit?: number;
}

/** One bounded step for one workspace; any number of sweepers may run. */
export async function sweepRequests(
  redis: RedisClient,
  namespace: string,
  { expireUntil, limit = LIMITS.MAX_SWEPT }: SweepOptions,
): Promise<SweepResult> {
  const args = { namespace, limit, expireUntil };
  const reply = await callFunction(redis, 'sweep', [workKeys(namespace).leases], args);
  const [ended, released, forgotten, more] = reply;
  return { ended, released, forgotten, more: more === 1 };
}

export const EXPIRY_GRACE_MS = 10_000;

export interface ExpiryGate {
  /** Called with the server's run id before each sweep; returns whether leases may expire now. */
  observe(runId: string): boolean;
  /** The connection was lost: workers may have been disconnected as well. */
  reset(): void;
}

/** Holds expiry back for a while after a restart, failover or reconnect, so that live workers can renew first. */
export function createExpiryGate({
  graceMs = EXPIRY_GRACE_MS,
  now = () => performance.now(),
}: {
  graceMs?: number;
  now?: () => number;
} = {}): ExpiryGate {
  let known: string | null = null;
  let since = 0;
  return {
    observe: (runId) => {
      if (runId !== known) {
        known = runId;
        since = now();
      }
      return now() - since >= graceMs;
    },
    reset: () => {
      known = null;
    },
  };
}
