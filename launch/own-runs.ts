/**
 * The state folders in which this user runs something, listed in the user's cache. Where others may write, such as in a cloned repository
 * or below /tmp, what looks like a state folder could name any API server and any program.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { findLockHolder } from '../machine/process-lock.ts';
import { FILE_NAME } from './endpoints-file.ts';

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

export type RunState = 'running' | 'starting';

/** undefined: nothing runs there, or somebody else's could. */
export function findOwnRun(folder: string, cache = CACHE_FOLDER): RunState | undefined {
  if (!existsSync(folder)) return undefined;
  const real = realpathSync(folder);
  const entry = placeOf(real, cache);
  const file = join(real, FILE_NAME);
  if (!isPrivate(entry) || !isPrivate(real)) return undefined;
  if (existsSync(file)) return isPrivate(file) ? 'running' : undefined;
  return isStarting(real) ? 'starting' : undefined;
}

export const isStarting = (folder: string): boolean =>
  findLockHolder(join(folder, RUN_LOCK.file), RUN_LOCK.program) !== undefined;

/** This user's, and neither readable nor writable by others. */
function isPrivate(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
