/** Packages that tests need, installed once into a folder outside the checkout. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import { awaitProcessLock } from '../../machine/process-lock.ts';

export const INSTALL_TIMEOUT_MS = 600_000;

/** The folder that has `packages`. Processes that ask at the same time wait for one installation. */
export function ensureInstalled(
  kind: string,
  packages: readonly string[],
  install: (folder: string) => void,
): string {
  const key = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const folder = join(CACHE_FOLDER, `${kind}-${key}`);
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return folder;
  const lock = awaitProcessLock(`${folder}.lock`, 'node');
  try {
    if (!existsSync(ready)) {
      rmSync(folder, { recursive: true, force: true });
      install(folder);
      writeFileSync(ready, '');
    }
  } finally {
    lock.release();
  }
  return folder;
}

export function runInstaller(command: string, args: readonly string[], cwd?: string): void {
  const result = spawnSync(command, args, { encoding: 'utf8', cwd });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${result.stderr}`);
}
