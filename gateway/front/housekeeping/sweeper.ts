/** Expires leases, deadlines and old records of requests, for all workspaces. */
import { isRedisAway, type RedisClient } from '../../../redis/client.ts';
import { type ExpiryGate, type SweepResult, sweepRequests } from '../../../redis/requests/request-sweep.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Rounds } from './rounds.ts';

export interface SweeperOptions {
  redis: RedisClient;
  /** Reset when the connection is lost or re-established. */
  gate: ExpiryGate;
  /** Including deleted ones with remaining requests. */
  listWorkspaces: () => Promise<readonly string[]>;
  /** After each step. */
  onSwept?: (namespace: string, result: SweepResult) => void | Promise<void>;
  log: Logger;
  intervalMs?: number;
}

const INTERVAL_MS = 1_000;
/** Longer than a call waits for its reply: one that Redis processes later expires nothing. */
const EXPIRY_MARGIN_MS = 2_000;

export interface Sweeper {
  /** Resolves when the steps in progress have ended. */
  close(): Promise<void>;
}

/** Any number of sweepers may run. */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { redis, gate, listWorkspaces, onSwept, log, intervalMs = INTERVAL_MS } = options;
  let server: ServerState = { runId: '', readClock: () => 0 };
  return new Rounds({
    list: async () => {
      server = await readServerState(redis);
      return listWorkspaces();
    },
    visit: async (namespace) => {
      // Checked each time, since the connection may have been lost since the round started.
      const expireUntil = gate.observe(server.runId) ? server.readClock() + EXPIRY_MARGIN_MS : 0;
      const result = await sweepRequests(redis, namespace, { expireUntil });
      await onSwept?.(namespace, result);
      return result.more;
    },
    onError: (error, namespace) => {
      if (!isRedisAway(error)) log.error({ err: error, namespace }, 'request sweep failed');
    },
    intervalMs,
  });
}

interface ServerState {
  /** Changes with every start of the server. */
  runId: string;
  /** The server's current time in Unix ms, or slightly less. */
  readClock: () => number;
}

async function readServerState(redis: RedisClient): Promise<ServerState> {
  const [info, [seconds, micros]] = await Promise.all([redis.info('server'), redis.time()]);
  const at = performance.now();
  return {
    runId: /^run_id:(\S+)/m.exec(info)?.[1] ?? '',
    readClock: () => Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000 + performance.now() - at),
  };
}
