/** Folders of the cache, which are created once, and again when their sources change. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import { awaitProcessLock } from '../../machine/process-lock.ts';

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

/** The folder's path, once it is complete. Concurrent processes block until one of them has created it. */
export function ensureFolder(cached: CachedFolder): string {
  const key = createHash('sha256').update(cached.madeFrom).digest('hex').slice(0, 12);
  const folder = join(cached.within ?? CACHE_FOLDER, `${cached.name}-${key}`);
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
