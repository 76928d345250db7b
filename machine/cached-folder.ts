/** Folders of the cache, which are created once, and again when their sources change. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from './cache-folder.ts';
import { awaitProcessLock } from './process-lock.ts';

export interface CachedFolder {
  name: string;
  /** Everything that determines its contents. */
  madeFrom: string;
  make: (folder: string) => void;
  /** Whether `make` can continue after an interruption. */
  isResumable?: boolean;
  /** Instead of the cache folder. */
  within?: string;
}

const READY = 'ready';

function placeOf({ name, madeFrom, within = CACHE_FOLDER }: CachedFolder): string {
  const key = createHash('sha256').update(madeFrom).digest('hex').slice(0, 12);
  return join(within, `${name}-${key}`);
}

/** The folder's path if it is complete. */
export function findFolder(cached: CachedFolder): string | undefined {
  const folder = placeOf(cached);
  return existsSync(join(folder, READY)) ? folder : undefined;
}

/** The folder's path, once it is complete. Concurrent processes block until one of them has created it. */
export function ensureFolder(cached: CachedFolder): string {
  const folder = placeOf(cached);
  const ready = join(folder, READY);
  if (existsSync(ready)) return folder;
  const lock = awaitProcessLock(`${folder}.lock`, 'node');
  try {
    if (!existsSync(ready)) make(folder, cached);
  } finally {
    lock.release();
  }
  return folder;
}

function make(folder: string, { make, isResumable }: CachedFolder): void {
  if (!isResumable) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  make(folder);
  writeFileSync(join(folder, READY), '');
}
