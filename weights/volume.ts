/** Names and times of files on the cache's volume. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The time by the volume's clock, since those of nodes differ. */
export async function readVolumeTime(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const probe = join(folder, `.time-${randomUUID()}`);
  await writeFile(probe, '');
  const { mtimeMs } = await stat(probe);
  await rm(probe, { force: true });
  return mtimeMs;
}

/** [] if there is no such folder. */
export const listFolder = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Milliseconds by the volume's clock; 0 if there is no such file. */
export const readMtime = (path: string): Promise<number> => readTime(path, 'mtimeMs');

/** `ctimeMs` counts any change, a rename included. */
export const readTime = (path: string, which: 'mtimeMs' | 'ctimeMs'): Promise<number> =>
  stat(path).then(
    (found) => found[which],
    () => 0,
  );
