/** Marks weights in a shared cache as in use by this pod, so that they are not evicted (weights/entry.ts). */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { LEASE_INTERVAL_MS } from '../../api/weights-cache.ts';
import type { Clock } from '../../kit/clock.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import type { Logger } from '../telemetry/log.ts';

export interface WeightsLeaseOptions {
  /** Folder of all leases of these weights; null = the engine reads no cache. */
  folder: string | null;
  podName: string;
  log: Logger;
  intervalMs?: number;
  clock?: Clock;
  renew?: (path: string) => Promise<void>;
}

/**
 * Renews the lease that the loader created before the engine started; returns a function that stops. Each renewal waits for the one
 * before: on a hanging volume, each blocks one of the process's few threads for file and DNS operations.
 */
export function keepWeightsLease({
  folder,
  podName,
  log,
  intervalMs = LEASE_INTERVAL_MS,
  clock,
  renew = rewrite,
}: WeightsLeaseOptions): () => void {
  if (folder === null) return () => {};
  const task = new PeriodicTask({
    run: () => renew(join(folder, podName)),
    intervalMs,
    onError: (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') log.warn({ err: error }, 'weights lease not renewed');
    },
    clock,
  });
  task.start(intervalMs);
  return () => void task.stop();
}

/** The digest of a version; anything longer was written by another pod. */
const MAX_LEASE_BYTES = 64;

/** By a write, so that the volume's own clock counts, which all pods share. */
async function rewrite(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_LEASE_BYTES), 0, MAX_LEASE_BYTES, 0);
    await handle.write(buffer, 0, bytesRead, 0);
  } finally {
    await handle.close();
  }
}
