/** The processes that this one started, each with a group of its own, which no Ctrl-C reaches. */
import type { ChildProcess } from 'node:child_process';

const alive = new Set<ChildProcess>();

/** Until it has ended. */
export function keepTrack(child: ChildProcess): void {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
}

/** Immediately, without a request to end. */
export function killGroups(): void {
  for (const child of alive)
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
}
