/** Whether an engine that fails without a word has run out of GPU memory: its shell notes that down in a file that holds nothing else. */
import { lstat } from 'node:fs/promises';
import { type Clock, sleep, systemClock } from '../../kit/clock.ts';

/** `since`: milliseconds by the clock's date. */
export type MemoryWatch = (since: number) => Promise<boolean>;

/** The note is written by other processes, while the answer is already on its way. */
const WAIT_MS = 500;
const STEP_MS = 50;
/** What happened longer before the answer was the failure of another request. */
const RECENT_MS = 10_000;

/** Reads when the file was written, and nothing of what is in it: it lies where the engine writes. */
export function watchMemoryMark(path: string, clock: Clock = systemClock): MemoryWatch {
  return async (since) => {
    const earliest = Math.max(since, clock.date().getTime() - RECENT_MS);
    for (let waited = 0; ; waited += STEP_MS) {
      const writtenAt = await lstat(path).then(
        (stats) => (stats.isFile() ? stats.mtimeMs : 0),
        () => 0,
      );
      if (writtenAt >= earliest) return true;
      if (waited >= WAIT_MS) return false;
      await sleep(clock, STEP_MS);
    }
  };
}
