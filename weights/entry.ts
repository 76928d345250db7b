/**
 * What a cache holds of one source: a folder for each version of it, complete or none at all, the folder of one that is being
 * downloaded, a lock, and a lease for each pod that reads it. All of it is files, for any filesystem that pods share.
 */
import { randomUUID } from 'node:crypto';
import {
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { CURRENT, LEASE_TTL_MS, LEASES } from '../api/weights-cache.ts';
import { type Manifest, totalBytes } from './source.ts';

/** Of a version: its files and their sizes, written once all are there. */
const MARKER = '.json';
/** Of a version: its age is when it was last asked for. */
const USED = '.used';
/** Of a version whose eviction began: its marker. */
const HIDDEN = '.evicted';
const PARTIAL = 'partial-';
/** A folder of a version. */
const VERSION = /^[0-9a-f]{40,64}$/;
const LOCK = 'lock';
/** A holder writes its lock so often, and has lost it after so long. */
export const LOCK_INTERVAL_MS = 5_000;
const LOCK_TTL_MS = 30_000;

export interface Version {
  digest: string;
  bytes: number;
  /** Milliseconds by the volume's own clock. */
  usedAt: number;
}

interface Marker {
  bytes: number;
  files: { path: string; size: number }[];
}

export class CacheEntry {
  readonly folder: string;
  readonly #owner: string;

  /** `owner`: of its lock; a pod's own is taken over after a restart. */
  constructor(folder: string, owner: string = randomUUID()) {
    this.folder = folder;
    this.#owner = owner;
  }

  folderOf(digest: string): string {
    return join(this.folder, digest);
  }

  /** Where a version lies until it is complete; made with a note of its size. */
  async openPartial(manifest: Manifest): Promise<string> {
    const folder = join(this.folder, `${PARTIAL}${manifest.digest}`);
    // A crash in `complete` or `evict` leaves a version without its marker: each file that is there is whole.
    if (!(await this.#readMarker(manifest.digest)))
      await rename(this.folderOf(manifest.digest), folder).catch(() => {});
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}${MARKER}`, JSON.stringify({ bytes: totalBytes(manifest), files: [] }));
    return folder;
  }

  /** All its files are there and right: from here on it is a version. */
  async complete({ digest, files }: Manifest): Promise<void> {
    // Where the lock was lost, another pod was faster, and engines read what it made.
    if (await this.isComplete(digest)) return this.dropPartial(digest);
    const partial = join(this.folder, `${PARTIAL}${digest}`);
    const folder = this.folderOf(digest);
    // What lies there is not whole.
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
    const listed = files.map(({ path, size }) => ({ path, size }));
    await writeWhole(
      `${folder}${MARKER}`,
      JSON.stringify({ bytes: totalBytes({ digest, files }), files: listed }),
    );
    await rm(`${partial}${MARKER}`, { force: true });
  }

  /** Whether all files of a version are there in their sizes. */
  async isComplete(digest: string): Promise<boolean> {
    const marker = await this.#readMarker(digest);
    if (!marker) return false;
    for (const { path, size } of marker.files) {
      const found = await stat(join(this.folderOf(digest), path)).catch(() => undefined);
      if (found?.size !== size) return false;
    }
    return true;
  }

  /** Has engines find it, and notes that it was asked for. */
  async select(digest: string): Promise<void> {
    await writeFile(`${this.folderOf(digest)}${USED}`, '.');
    if ((await this.current()) === digest) return;
    const link = join(this.folder, `${CURRENT}-${randomUUID()}`);
    await symlink(digest, link);
    await rename(link, join(this.folder, CURRENT));
  }

  /** The version that engines find; undefined where there is none. */
  current(): Promise<string | undefined> {
    return readlink(join(this.folder, CURRENT)).catch(() => undefined);
  }

  /** All that are complete, and those whose download began. */
  async list(): Promise<{ versions: Version[]; partials: { digest: string; bytes: number }[] }> {
    const names = await listNames(this.folder);
    const versions: Version[] = [];
    const partials: { digest: string; bytes: number }[] = [];
    for (const name of names.filter((each) => each.endsWith(MARKER))) {
      const digest = name.slice(0, -MARKER.length);
      const bytes = (await this.#readMarker(digest))?.bytes ?? 0;
      if (digest.startsWith(PARTIAL)) partials.push({ digest: digest.slice(PARTIAL.length), bytes });
      else versions.push({ digest, bytes, usedAt: await mtimeOf(`${this.folderOf(digest)}${USED}`) });
    }
    return { versions, partials };
  }

  /** Before it is looked whether a version is complete: from then on nobody evicts it. The time by the volume's clock. */
  async lease(pod: string, digest: string): Promise<number> {
    const path = join(this.folder, LEASES, pod);
    await mkdir(join(this.folder, LEASES), { recursive: true });
    await writeFile(path, digest);
    return mtimeOf(path);
  }

  release(pod: string): Promise<void> {
    return rm(join(this.folder, LEASES, pod), { force: true });
  }

  /** Versions that pods read; leases of pods that are gone are removed. */
  async inUse(now: number): Promise<Set<string>> {
    const used = new Set<string>();
    for (const name of await listNames(join(this.folder, LEASES))) {
      const path = join(this.folder, LEASES, name);
      if (now - (await mtimeOf(path)) > LEASE_TTL_MS) await rm(path, { force: true });
      else used.add(await readFile(path, 'utf8').catch(() => ''));
    }
    return used;
  }

  /** False where a pod came in between. `now`: by the volume's clock. */
  async evict(digest: string, now: number): Promise<boolean> {
    const folder = this.folderOf(digest);
    const hidden = `${folder}${HIDDEN}`;
    // A pod leases before it looks for the marker, and this removes the marker before it looks for leases.
    await rename(`${folder}${MARKER}`, hidden).catch(() => {});
    if ((await this.inUse(now)).has(digest)) {
      await rename(hidden, `${folder}${MARKER}`).catch(() => {});
      return false;
    }
    if ((await this.current()) === digest) await rm(join(this.folder, CURRENT), { force: true });
    await this.#remove(digest);
    // Unless anything else is in them.
    for (const path of [join(this.folder, LEASES), this.folder]) await rmdir(path).catch(() => {});
    return true;
  }

  /** What a crash in the midst of `complete` or `evict` left, and nobody waits for. `now`: by the volume's clock. */
  async sweep(now: number): Promise<void> {
    const names = new Set(await listNames(this.folder));
    const inUse = await this.inUse(now);
    for (const name of names) {
      const isLeft = VERSION.test(name) && !names.has(`${name}${MARKER}`) && !inUse.has(name);
      if (!isLeft) continue;
      const folder = this.folderOf(name);
      const changes = [folder, `${folder}${HIDDEN}`].map((path) => timeOf(path, 'ctimeMs'));
      // Later than that nobody is in between.
      if (now - Math.max(...(await Promise.all(changes))) < LOCK_TTL_MS) continue;
      await this.#remove(name);
    }
  }

  async dropPartial(digest: string): Promise<void> {
    const folder = join(this.folder, `${PARTIAL}${digest}`);
    await rm(folder, { recursive: true, force: true });
    await rm(`${folder}${MARKER}`, { force: true });
  }

  /**
   * Who downloads, so that the others wait. Two may hold it for a moment where one was lost: that costs a download and
   * nothing else. `now`: by the volume's clock.
   */
  async lock(now: number): Promise<boolean> {
    const path = join(this.folder, LOCK);
    await mkdir(this.folder, { recursive: true });
    if ((await this.isLocked(now)) && !(await this.#isOwner())) return false;
    await rm(path, { force: true });
    const handle = await open(path, 'wx').catch(() => undefined);
    await handle?.writeFile(this.#owner);
    await handle?.close();
    return handle !== undefined;
  }

  async isLocked(now: number): Promise<boolean> {
    return now - (await mtimeOf(join(this.folder, LOCK))) < LOCK_TTL_MS;
  }

  /** False where it is another's by now. */
  async renewLock(): Promise<boolean> {
    const path = join(this.folder, LOCK);
    if (!(await this.#isOwner())) return false;
    await writeFile(path, this.#owner);
    return true;
  }

  async unlock(): Promise<void> {
    if (await this.renewLock().catch(() => false)) await rm(join(this.folder, LOCK), { force: true });
  }

  /** The files of a version whose marker is gone, and what else says that it is there. */
  async #remove(digest: string): Promise<void> {
    const folder = this.folderOf(digest);
    await rm(folder, { recursive: true, force: true });
    for (const suffix of [HIDDEN, USED]) await rm(`${folder}${suffix}`, { force: true });
  }

  async #isOwner(): Promise<boolean> {
    return (await readFile(join(this.folder, LOCK), 'utf8').catch(() => '')) === this.#owner;
  }

  async #readMarker(digest: string): Promise<Marker | undefined> {
    try {
      return JSON.parse(await readFile(`${this.folderOf(digest)}${MARKER}`, 'utf8')) as Marker;
    } catch {
      return undefined;
    }
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  const handle = await open(temporary, 'wx');
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
  await rename(temporary, path);
}

export const listNames = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** 0 where there is no such file. */
const mtimeOf = (path: string): Promise<number> => timeOf(path, 'mtimeMs');

/** `ctimeMs` counts any change, a rename included. */
const timeOf = (path: string, which: 'mtimeMs' | 'ctimeMs'): Promise<number> =>
  stat(path).then(
    (found) => found[which],
    () => 0,
  );
