/** Says in a shared cache of weights that this pod reads them, so that they are not evicted (weights/entry.ts). */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { LEASE_INTERVAL_MS } from '../../api/weights-cache.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import type { Logger } from '../telemetry/log.ts';

export interface LeaseOptions {
  /** Of all leases of these weights; null = the engine reads none of a cache. */
  folder: string | null;
  podName: string;
  log: Logger;
  intervalMs?: number;
  clock?: Clock;
  renew?: (path: string) => Promise<void>;
}

/**
 * Renews what the loader made before the engine started; answers a function that ends it. The next renewal waits for the one
 * before: on a volume that hangs, each takes one of the process's few threads for files and names of hosts.
 */
export function keepWeightsLease({
  folder,
  podName,
  log,
  intervalMs = LEASE_INTERVAL_MS,
  clock = systemClock,
  renew = rewrite,
}: LeaseOptions): () => void {
  if (folder === null) return () => {};
  let isStopped = false;
  let cancel = () => {};
  const wait = () => {
    if (!isStopped) cancel = clock.after(intervalMs, () => void keep().finally(wait));
  };
  const keep = () =>
    renew(join(folder, podName)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') log.warn({ err: error }, 'weights lease not renewed');
    });
  wait();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** The digest of a version; what is longer another pod wrote. */
const MAX_LEASE_BYTES = 64;

/** By a write: the volume's own clock counts, which is that of all its pods. */
async function rewrite(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_LEASE_BYTES), 0, MAX_LEASE_BYTES, 0);
    await handle.write(buffer, 0, bytesRead, 0);
  } finally {
    await handle.close();
  }
}
