/** Renews the lease of a job while it runs, and reports when it is lost. */
import { isRedisAway } from '../../redis/client.ts';
import { RENEWAL_MS, type Renewal } from '../../redis/requests/request-calls.ts';

export interface JobLeaseOptions {
  /** Until the deadline. */
  remainingMs: number;
  renew: () => Promise<Renewal>;
  /** At most once. */
  onLost: (why: 'stale' | 'deadline') => void;
  onError: (error: unknown) => void;
  renewalMs?: number;
}

/** After a renewal without a reply. */
const RETRY_MS = 300;
/** The maximum of a timer; more means no deadline. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns the function that ends it. */
export function keepLease({
  remainingMs,
  renew,
  onLost,
  onError,
  renewalMs = RENEWAL_MS,
}: JobLeaseOptions): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout;
  const end = () => {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(deadline);
  };
  const lose = (why: 'stale' | 'deadline') => {
    if (isOver) return;
    end();
    onLost(why);
  };
  const tick = async () => {
    let delayMs = renewalMs;
    try {
      const answer = await renew();
      if (answer !== 'renewed') lose(answer);
    } catch (error) {
      delayMs = RETRY_MS;
      if (!isRedisAway(error)) onError(error);
    }
    if (!isOver) timer = setTimeout(tick, delayMs);
  };
  const deadline = setTimeout(lose, Math.min(Math.max(0, remainingMs), MAX_TIMER_MS), 'deadline');
  timer = setTimeout(tick, renewalMs);
  return end;
}
