/** One run at a time with a cluster: a second one of the same name would end the first one's. */
import { join } from 'node:path';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import { type ProcessLock, tryProcessLock } from '../../machine/process-lock.ts';

const POLL_MS = 1_000;

/** Waits for a run that is under way to end. Nothing of this process may fail to call `release` in the end. */
export async function lockRun(cluster: string): Promise<ProcessLock> {
  const path = join(CACHE_FOLDER, 'cluster', `${cluster}.lock`);
  for (let isTold = false; ; isTold = true) {
    const lock = tryProcessLock(path, 'test/e2e/main.ts');
    if ('release' in lock) return lock;
    if (!isTold) console.error('waiting for another run of these tests to end…');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
