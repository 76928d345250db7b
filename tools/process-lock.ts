/** One process at a time with a folder or a cluster: a file that names the process, which a killed one leaves behind. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ProcessLock {
  /** Removes the file. */
  release: () => void;
}

/** A file with this process's id may be a killed one's: in a container ids are the same at every start. */
const heldHere = new Set<string>();

function release(path: string): void {
  heldHere.delete(path);
  rmSync(path, { force: true });
}

/** The lock, or the id of the process that holds it. `program`: part of a holder's command line, as ids are used again. */
export function tryProcessLock(path: string, program: string): ProcessLock | { heldBy: number } {
  mkdirSync(dirname(path), { recursive: true });
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      heldHere.add(path);
      return { release: () => release(path) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readHolder(path);
    const isHeld =
      holder === process.pid ? heldHere.has(path) : holder !== null && isRunning(holder, program);
    if (isHeld) return { heldBy: holder! };
    // A killed process leaves its file behind.
    rmSync(path, { force: true });
  }
}

/** null: gone meanwhile. */
function readHolder(path: string): number | null {
  try {
    // Empty for the moment between its creation and its writing.
    for (let attempt = 0; attempt < 100; attempt++) {
      const text = readFileSync(path, 'utf8');
      if (text !== '') return Number(text);
    }
    return null;
  } catch {
    return null;
  }
}

function isRunning(pid: number, program: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program);
  } catch {
    // No /proc, as on macOS: alive is all that can be known.
    return true;
  }
}
