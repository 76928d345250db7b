/** Ends batches that were cancelled or whose window is over, also while no replica is there: their lines are named, not run. */
import { randomBytes } from 'node:crypto';
import { claimChunk } from '../../../redis/batches/batch-records.ts';
import { isRedisAway, type RedisClient } from '../../../redis/client.ts';
import { ChunkRun } from '../../batches/chunk-run.ts';
import type { StorageServices } from '../../jobs/services.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Rounds } from './rounds.ts';

export interface BatchCloserOptions {
  redis: RedisClient;
  storage: StorageServices;
  listWorkspaces: () => Promise<readonly string[]>;
  log: Logger;
  intervalMs?: number;
}

const INTERVAL_MS = 5_000;
const TIMEOUT_MS = 30_000;

export interface BatchCloser {
  /** Resolves when the steps in progress have ended. */
  close(): Promise<void>;
}

/** Any number may run. */
export function startBatchCloser(options: BatchCloserOptions): BatchCloser {
  const { redis, storage, listWorkspaces, log, intervalMs = INTERVAL_MS } = options;
  const runs = new Set<ChunkRun>();
  let isClosed = false;
  const rounds = new Rounds({
    list: listWorkspaces,
    visit: async (namespace) => {
      if (isClosed) return false;
      const token = randomBytes(16).toString('hex');
      const chunk = await claimChunk(redis, { namespace, deployment: null, token });
      if (!chunk) return false;
      const run = new ChunkRun({ redis, storage, log, runner: null }, chunk, () => {});
      runs.add(run);
      // No workspace's store delays the others'.
      const late = setTimeout(() => run.release(), TIMEOUT_MS);
      const end = await run.ended;
      clearTimeout(late);
      runs.delete(run);
      return end === 'finished';
    },
    onError: (error, namespace) => {
      if (!isRedisAway(error)) log.error({ err: error, namespace }, 'ending a batch failed');
    },
    intervalMs,
  });
  return {
    close: async () => {
      isClosed = true;
      for (const run of runs) run.release();
      await rounds.close();
    },
  };
}
