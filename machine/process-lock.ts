/** A lock on a folder or a cluster: a file with the process's id, which a killed process leaves behind. */
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ProcessLock {
  /** Removes the file. */
  release: () => void;
}

/** A file with this process's id may be left by a killed one: in a container ids repeat at every start. */
const heldHere = new Set<string>();

function release(path: string): void {
  heldHere.delete(path);
  rmSync(path, { force: true });
}

/** The lock, or the id of the process that holds it. `program`: part of a holder's command line, as ids are reused. */
export function tryProcessLock(path: string, program: string): ProcessLock | { heldBy: number } {
  mkdirSync(dirname(path), { recursive: true });
  for (;;) {
    if (create(path)) {
      heldHere.add(path);
      return { release: () => release(path) };
    }
    const holder = readHolder(path);
    if (holder === null) continue;
    if (isHeld(path, holder, program)) return { heldBy: holder };
    const removal = removeStale(path, program);
    if (removal !== null) return removal;
  }
}

/** The id of the process that holds it, without taking it. */
export function findLockHolder(path: string, program: string): number | undefined {
  const holder = readHolder(path);
  return holder !== null && isHeld(path, holder, program) ? holder : undefined;
}

const WAIT_INTERVAL_MS = 500;

/** The lock, as soon as no other process holds it; blocks this one meanwhile. */
export function awaitProcessLock(path: string, program: string): ProcessLock {
  for (;;) {
    const lock = tryProcessLock(path, program);
    if ('release' in lock) return lock;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_INTERVAL_MS);
  }
}

/** False if it exists. Created atomically with its content. */
function create(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes a killed process's file: one process at a time, which rechecks it, as another one may have replaced it.
 * Returns who is doing so, null once it was done here.
 */
function removeStale(path: string, program: string): { heldBy: number } | null {
  const removal = tryProcessLock(`${path}.removal`, program);
  if ('heldBy' in removal) return removal;
  try {
    const holder = readHolder(path);
    if (holder !== null && !isHeld(path, holder, program)) rmSync(path, { force: true });
    return null;
  } finally {
    removal.release();
  }
}

const isHeld = (path: string, holder: number, program: string): boolean =>
  holder === process.pid ? heldHere.has(path) : isRunning(holder, program);

/** null: gone meanwhile. */
function readHolder(path: string): number | null {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
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
    // No /proc, as on macOS: only liveness can be checked.
    return true;
  }
}
