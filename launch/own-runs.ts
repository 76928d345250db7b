/**
 * The state folders in which this user runs something, listed in the user's cache. Where others may write, such as in a cloned repository
 * or below /tmp, what looks like a state folder could name any API server and any program.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { findLockHolder } from '../machine/process-lock.ts';
import { FILE_NAME, readEndpoints } from './endpoints-file.ts';

/** Held while `make run` uses the folder. */
export const RUN_LOCK = { file: 'run.lock', program: 'launch/local.ts' } as const;

const placeOf = (folder: string, cache: string): string =>
  join(cache, 'runs', createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 16));

/** The folder exists, and belongs to this user alone. */
export function listOwnRun(folder: string, cache = CACHE_FOLDER): void {
  mkdirSync(join(cache, 'runs'), { recursive: true, mode: 0o700 });
  writeFileSync(placeOf(folder, cache), `${folder}\n`, { mode: 0o600 });
}

export function unlistOwnRun(folder: string, cache = CACHE_FOLDER): void {
  if (existsSync(folder)) rmSync(placeOf(folder, cache), { force: true });
}

export interface OwnRun {
  /** Its real path: a link that led to it may lead elsewhere a moment later. */
  folder: string;
  /** `ended`: it was killed. Whoever has its port now is somebody else. */
  state: 'running' | 'starting' | 'ended';
}

/** undefined: nothing ran there, or somebody else's could. */
export function findOwnRun(folder: string, cache = CACHE_FOLDER): OwnRun | undefined {
  if (!existsSync(folder)) return undefined;
  const real = realpathSync(folder);
  const file = join(real, FILE_NAME);
  const hasFile = existsSync(file);
  if (![placeOf(real, cache), real, ...(hasFile ? [file] : [])].every(isPrivate)) return undefined;
  const isHeld = isInUse(real);
  if (!hasFile) return isHeld ? { folder: real, state: 'starting' } : undefined;
  // A cluster has no process of its own.
  const isRunning = isHeld || readEndpoints(file)?.mode === 'cluster';
  return { folder: real, state: isRunning ? 'running' : 'ended' };
}

/** Whether there is what would look like a run, whoever's. */
export function looksLikeRun(folder: string): boolean {
  try {
    return statSync(join(folder, FILE_NAME)).isFile();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Whether a `make run` uses it. */
export const isInUse = (folder: string): boolean =>
  findLockHolder(join(folder, RUN_LOCK.file), RUN_LOCK.program) !== undefined;

/** This user's, and neither readable nor writable by others. */
function isPrivate(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
