/** Default spool folders: each has the id of its process in its name, since two programs must never share one. */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const PREFIX = 'berth-spool-';
const FOLDER = new RegExp(`(?:^|/)${PREFIX}(\\d+)$`);

export const nameSpoolFolder = (): string => join(tmpdir(), `${PREFIX}${process.pid}`);

/** Removes siblings of `folder` whose processes are gone; nothing if `folder` itself has another kind of name. */
export async function removeLostSpools(folder: string): Promise<void> {
  if (!FOLDER.test(folder)) return;
  for (const name of await readdir(dirname(folder))) {
    const pid = FOLDER.exec(name)?.[1];
    // Another user's stays, since it may not be removed.
    if (pid && isGone(Number(pid)))
      await rm(join(dirname(folder), name), { recursive: true, force: true }).catch(() => {});
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
