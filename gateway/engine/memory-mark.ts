/** Whether an engine that fails without a reason has run out of GPU memory: its shell notes that in an empty file (decision 0343). */
import { lstat } from 'node:fs/promises';
import { type Clock, sleep, systemClock } from '../../kit/clock.ts';

/** `since`: Unix milliseconds. */
export type MemoryWatch = (since: number) => Promise<boolean>;

/** The file is written by other processes, while the response is already being sent. */
const WAIT_MS = 500;
const STEP_MS = 50;
/** Anything longer before the response was another request's failure. */
const RECENT_MS = 10_000;

/** Reads only the file's modification time, not its content: it is in a folder that the engine writes. */
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
