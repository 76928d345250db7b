/** Folders of the cache that are made once, and again when what they are made from changes. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';

export interface CachedFolder {
  name: string;
  /** All that decides what is in it. */
  madeFrom: string;
  make: (folder: string) => void;
  /** Whether an interrupted `make` goes on with what is there. */
  isResumable?: boolean;
}

/** The folder's path, once it is complete. */
export function ensureFolder({ name, madeFrom, make, isResumable }: CachedFolder): string {
  const key = createHash('sha256').update(madeFrom).digest('hex').slice(0, 12);
  const folder = join(CACHE_FOLDER, `${name}-${key}`);
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return folder;
  if (!isResumable) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  make(folder);
  writeFileSync(ready, '');
  return folder;
}
