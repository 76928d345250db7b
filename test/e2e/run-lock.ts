/** One run at a time with a cluster: a second one of the same name would end the first one's. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CACHE_FOLDER } from '../cluster/environment.ts';

const POLL_MS = 1_000;

/** Waits for a run that is under way to end. Nothing of this process may fail to call `release` in the end. */
export async function lockRun(cluster: string): Promise<{ release: () => void }> {
  const path = join(CACHE_FOLDER, 'cluster', `${cluster}.lock`);
  mkdirSync(dirname(path), { recursive: true });
  for (let isTold = false; !tryLock(path); isTold = true) {
    if (!isTold) console.error('waiting for another run of these tests to end…');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { release: () => rmSync(path, { force: true }) };
}

function tryLock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // A killed run leaves its lock behind.
  if (!isHeld(path)) rmSync(path, { force: true });
  return false;
}

function isHeld(path: string): boolean {
  try {
    const pid = readFileSync(path, 'utf8');
    // Empty for the moment between its creation and its writing.
    return pid === '' || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('test/e2e/main.ts');
  } catch {
    return false;
  }
}
