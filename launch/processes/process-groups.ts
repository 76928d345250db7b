/** Child processes, each in its own process group, which Ctrl-C does not reach. */
import type { ChildProcess } from 'node:child_process';

const alive = new Set<ChildProcess>();

/** Until it has ended. */
export function keepTrack(child: ChildProcess): void {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
}

/** Kills them immediately. */
export function killGroups(): void {
  for (const child of alive)
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
}
