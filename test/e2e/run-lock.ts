/** One run at a time on a machine: the cluster of a second one would be the same. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CACHE_FOLDER } from '../cluster/environment.ts';

const PATH = join(CACHE_FOLDER, 'cluster', 'e2e.lock');
const POLL_MS = 1_000;

/** Waits for a run that is under way to end. Nothing of this process may fail to call `release` in the end. */
export async function lockRun(): Promise<{ release: () => void }> {
  mkdirSync(dirname(PATH), { recursive: true });
  for (let isTold = false; !tryLock(); isTold = true) {
    if (!isTold) console.error('waiting for the end of another run of these tests on this machine…');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { release: () => rmSync(PATH, { force: true }) };
}

function tryLock(): boolean {
  try {
    writeFileSync(PATH, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // A killed run leaves its lock behind.
  if (!isHeld()) rmSync(PATH, { force: true });
  return false;
}

function isHeld(): boolean {
  try {
    const pid = readFileSync(PATH, 'utf8');
    // Empty for the moment between its creation and its writing.
    return pid === '' || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('test/e2e/main.ts');
  } catch {
    return false;
  }
}
