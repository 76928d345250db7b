/** Does what time demands of requests, for all workspaces: lost workers, deadlines, expiry, old records. */
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { type ExpiryGate, type SweepResult, sweepRequests } from '../../redis/request-sweep.ts';
import type { Logger } from '../log.ts';
import { Rounds } from './rounds.ts';

export interface SweeperOptions {
  redis: RedisClient;
  /** Reset by who sees the connection come and go. */
  gate: ExpiryGate;
  /** Those that went and left requests behind included. */
  listWorkspaces: () => Promise<readonly string[]>;
  /** After each step. */
  onSwept?: (namespace: string, result: SweepResult) => void | Promise<void>;
  log: Logger;
  intervalMs?: number;
}

const INTERVAL_MS = 1_000;

export interface Sweeper {
  /** Resolves when the steps under way have ended. */
  close(): Promise<void>;
}

/** Any number of sweepers may run. */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { redis, gate, listWorkspaces, onSwept, log, intervalMs = INTERVAL_MS } = options;
  let mayExpire = false;
  return new Rounds({
    list: async () => {
      mayExpire = gate.observe(await readRunId(redis));
      return listWorkspaces();
    },
    visit: async (namespace) => {
      const result = await sweepRequests(redis, namespace, { mayExpire });
      await onSwept?.(namespace, result);
      return result.more;
    },
    onError: (error, namespace) => {
      if (!isRedisAway(error)) log.error({ err: error, namespace }, 'requests were not swept');
    },
    intervalMs,
  });
}

/** Changes with every start of the server. */
async function readRunId(redis: RedisClient): Promise<string> {
  return /^run_id:(\S+)/m.exec(await redis.info('server'))?.[1] ?? '';
}
