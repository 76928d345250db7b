/**
 * A source's entry in a cache: a folder for each complete version, the folder of one that is being
 * downloaded, a lock, and a lease for each pod that reads it. All are files, for any shared filesystem (decision 0265).
 */
import { randomUUID } from 'node:crypto';
import {
  mkdir,
  open,
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
import { DownloadLock, LOCK_TTL_MS } from './download-lock.ts';
import { type Manifest, totalBytes } from './source.ts';
import { listFolder, readMtime, readTime } from './volume.ts';

/** Marks a version: its files and their sizes, written once complete. */
const MARKER = '.json';
/** Marks a version's use: its mtime is its last use. */
const USED = '.used';
/** Marks a version whose eviction has started. */
const HIDDEN = '.evicted';
const PARTIAL = 'partial-';
/** A folder of a version. */
const VERSION = /^[0-9a-f]{40,64}$/;

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
  readonly lock: DownloadLock;

  /** `owner`: of its lock; a pod's own is taken over after a restart. */
  constructor(folder: string, owner: string = randomUUID()) {
    this.folder = folder;
    this.lock = new DownloadLock(folder, owner);
  }

  folderOf(digest: string): string {
    return join(this.folder, digest);
  }

  /** Folder of a version until it is complete; created with its size. */
  async openPartial(manifest: Manifest): Promise<string> {
    const folder = join(this.folder, `${PARTIAL}${manifest.digest}`);
    // A crash in `complete` or `evict` leaves a version without its marker: each existing file is complete.
    if (!(await this.#readMarker(manifest.digest)))
      await rename(this.folderOf(manifest.digest), folder).catch(() => {});
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}${MARKER}`, JSON.stringify({ bytes: totalBytes(manifest), files: [] }));
    return folder;
  }

  /** All its files are present and verified: from now on it is a version. */
  async complete({ digest, files }: Manifest): Promise<void> {
    // If the lock was lost, another pod was faster, and engines read its result.
    if (await this.isComplete(digest)) return this.dropPartial(digest);
    const partial = join(this.folder, `${PARTIAL}${digest}`);
    const folder = this.folderOf(digest);
    // What is there is incomplete.
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
    const listed = files.map(({ path, size }) => ({ path, size }));
    await writeWhole(
      `${folder}${MARKER}`,
      JSON.stringify({ bytes: totalBytes({ digest, files }), files: listed }),
    );
    await rm(`${partial}${MARKER}`, { force: true });
  }

  /** Whether all files of a version exist with the right sizes. */
  async isComplete(digest: string): Promise<boolean> {
    const marker = await this.#readMarker(digest);
    if (!marker) return false;
    for (const { path, size } of marker.files) {
      const found = await stat(join(this.folderOf(digest), path)).catch(() => undefined);
      if (found?.size !== size) return false;
    }
    return true;
  }

  /** Makes it current for engines, and records its use. */
  async select(digest: string): Promise<void> {
    await writeFile(`${this.folderOf(digest)}${USED}`, '.');
    if ((await this.current()) === digest) return;
    const link = join(this.folder, `${CURRENT}-${randomUUID()}`);
    await symlink(digest, link);
    await rename(link, join(this.folder, CURRENT));
  }

  /** The current version for engines; undefined if there is none. */
  current(): Promise<string | undefined> {
    return readlink(join(this.folder, CURRENT)).catch(() => undefined);
  }

  /** All complete versions, and started downloads. */
  async list(): Promise<{ versions: Version[]; partials: { digest: string; bytes: number }[] }> {
    const names = await listFolder(this.folder);
    const versions: Version[] = [];
    const partials: { digest: string; bytes: number }[] = [];
    for (const name of names.filter((each) => each.endsWith(MARKER))) {
      const digest = name.slice(0, -MARKER.length);
      const bytes = (await this.#readMarker(digest))?.bytes ?? 0;
      if (digest.startsWith(PARTIAL)) partials.push({ digest: digest.slice(PARTIAL.length), bytes });
      else versions.push({ digest, bytes, usedAt: await readMtime(`${this.folderOf(digest)}${USED}`) });
    }
    return { versions, partials };
  }

  /** Leases a version before checking that it is complete: from then on nobody evicts it. Returns the time by the volume's clock. */
  async lease(pod: string, digest: string): Promise<number> {
    const path = join(this.folder, LEASES, pod);
    await mkdir(join(this.folder, LEASES), { recursive: true });
    await writeFile(path, digest);
    return readMtime(path);
  }

  release(pod: string): Promise<void> {
    return rm(join(this.folder, LEASES, pod), { force: true });
  }

  /** Versions in use by pods; expired leases are removed. */
  async inUse(now: number): Promise<Set<string>> {
    const used = new Set<string>();
    for (const name of await listFolder(join(this.folder, LEASES))) {
      const path = join(this.folder, LEASES, name);
      if (now - (await readMtime(path)) > LEASE_TTL_MS) await rm(path, { force: true });
      else used.add(await readFile(path, 'utf8').catch(() => ''));
    }
    return used;
  }

  /** False if a pod leased it meanwhile. `now`: by the volume's clock. */
  async evict(digest: string, now: number): Promise<boolean> {
    const folder = this.folderOf(digest);
    const hidden = `${folder}${HIDDEN}`;
    // A pod leases before it checks the marker, and this removes the marker before it checks leases.
    await rename(`${folder}${MARKER}`, hidden).catch(() => {});
    if ((await this.inUse(now)).has(digest)) {
      await rename(hidden, `${folder}${MARKER}`).catch(() => {});
      return false;
    }
    if ((await this.current()) === digest) await rm(join(this.folder, CURRENT), { force: true });
    await this.#remove(digest);
    // Unless they contain anything else.
    for (const path of [join(this.folder, LEASES), this.folder]) await rmdir(path).catch(() => {});
    return true;
  }

  /** Leftovers of a crash in `complete` or `evict` that nobody waits for. `now`: by the volume's clock. */
  async sweep(now: number): Promise<void> {
    const names = new Set(await listFolder(this.folder));
    const inUse = await this.inUse(now);
    for (const name of names) {
      const isLeft = VERSION.test(name) && !names.has(`${name}${MARKER}`) && !inUse.has(name);
      if (!isLeft) continue;
      const folder = this.folderOf(name);
      const changes = [folder, `${folder}${HIDDEN}`].map((path) => readTime(path, 'ctimeMs'));
      // After that time nobody is in between.
      if (now - Math.max(...(await Promise.all(changes))) < LOCK_TTL_MS) continue;
      await this.#remove(name);
    }
  }

  async dropPartial(digest: string): Promise<void> {
    const folder = join(this.folder, `${PARTIAL}${digest}`);
    await rm(folder, { recursive: true, force: true });
    await rm(`${folder}${MARKER}`, { force: true });
  }

  /** Removes the files of a version whose marker is gone, and other references to it. */
  async #remove(digest: string): Promise<void> {
    const folder = this.folderOf(digest);
    await rm(folder, { recursive: true, force: true });
    for (const suffix of [HIDDEN, USED]) await rm(`${folder}${suffix}`, { force: true });
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
