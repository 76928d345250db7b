/** Room in a cache: LRU eviction, except of what a pod reads. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { CacheEntry } from './entry.ts';
import { listFolder, readVolumeTime } from './volume.ts';

export interface CacheOptions {
  /** Folder of all entries. */
  folder: string;
  /** Limit of all models in bytes; undefined: the volume's size. */
  limitBytes: number | undefined;
}

/** Reserve beside a model's own bytes, for folders and concurrent writes. */
const SPARE_BYTES = 16 * 1024 * 1024;

export class InsufficientSpaceError extends Error {
  override readonly name = 'InsufficientSpaceError';
}

interface Victim {
  name: string;
  usedAt: number;
  /** False if a pod leased it meanwhile. */
  remove(): Promise<boolean>;
}

/** The version to be downloaded. */
export interface Wanted {
  /** Folder of its entry. */
  folder: string;
  digest: string;
  /** Size of the whole version, and of what is missing. */
  bytes: number;
  missingBytes: number;
}

/**
 * Makes room for a version; returns what was evicted. Throws InsufficientSpaceError if evictable data is not enough; without
 * `mayEvict` nothing is evictable.
 */
export async function makeRoom(
  { folder, limitBytes }: CacheOptions,
  wanted: Wanted,
  mayEvict: boolean,
): Promise<string[]> {
  const evicted: string[] = [];
  const now = await readVolumeTime(folder);
  const victims = mayEvict ? await listVictims(folder, { now, wanted }) : [];
  for (;;) {
    const lacking = await findLack({ folder, limitBytes }, wanted);
    if (lacking <= 0) return evicted;
    const victim = victims.shift();
    if (!victim) throw new InsufficientSpaceError(explain(lacking, wanted.bytes, mayEvict));
    if (await victim.remove()) evicted.push(victim.name);
  }
}

function explain(lacking: number, bytes: number, mayEvict: boolean): string {
  const size = `${formatGibibytes(lacking)} more than there is for the ${formatGibibytes(bytes)} to download`;
  const rest = mayEvict ? 'all other models in the cache are in use' : 'nothing is evicted for a prefetch';
  return `the weights cache is full: needs ${size}, and ${rest}`;
}

export const formatGibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(2)} GiB`;

async function findLack({ folder, limitBytes }: CacheOptions, wanted: Wanted): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  const byVolume = wanted.missingBytes + SPARE_BYTES - bavail * bsize;
  if (limitBytes === undefined) return byVolume;
  let used = wanted.bytes;
  for (const entry of await listEntries(folder)) {
    const { versions, partials } = await entry.list();
    const isOwn = (digest: string) => entry.folder === wanted.folder && digest === wanted.digest;
    for (const { digest, bytes } of [...versions, ...partials]) used += isOwn(digest) ? 0 : bytes;
  }
  return Math.max(byVolume, used - limitBytes);
}

/** Abandoned downloads first, then versions by age; leftovers of crashes are removed at once. */
async function listVictims(
  folder: string,
  { now, wanted }: { now: number; wanted: Wanted },
): Promise<Victim[]> {
  const victims: Victim[] = [];
  for (const entry of await listEntries(folder)) {
    // The caller holds the lock of its own entry.
    const isOwn = entry.folder === wanted.folder;
    const isIdle = isOwn || !(await entry.lock.isHeld(now));
    if (isIdle) await entry.sweep(now);
    const { versions, partials } = await entry.list();
    const inUse = await entry.inUse(now);
    for (const { digest } of isIdle ? partials : [])
      if (!isOwn || digest !== wanted.digest)
        victims.push({
          name: `the unfinished ${join(entry.folder, digest)}`,
          usedAt: 0,
          remove: () => entry.dropPartial(digest).then(() => true),
        });
    for (const { digest, usedAt } of versions)
      if (!inUse.has(digest))
        victims.push({ name: join(entry.folder, digest), usedAt, remove: () => entry.evict(digest, now) });
  }
  return victims.sort((a, b) => a.usedAt - b.usedAt);
}

async function listEntries(folder: string): Promise<CacheEntry[]> {
  const names = await listFolder(folder);
  return names.filter((name) => !name.startsWith('.')).map((name) => new CacheEntry(join(folder, name)));
}
