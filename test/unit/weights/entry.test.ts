import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CacheEntry } from '../../../weights/entry.ts';
import { makeRoom } from '../../../weights/eviction.ts';
import { loadWeights } from '../../../weights/load.ts';
import type { Manifest } from '../../../weights/source.ts';
import { readVolumeTime } from '../../../weights/volume.ts';

const ONE = '1'.repeat(40);
const TWO = '2'.repeat(40);
const HOUR_MS = 3_600_000;

describe('a version of a model in the cache', () => {
  let cache: string;
  let entry: CacheEntry;
  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'berth-entry-'));
    entry = new CacheEntry(join(cache, 'a'), 'pod-1');
  });
  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  const manifest = (digest = ONE, size = 4): Manifest => ({
    digest,
    files: [{ path: 'weights', size, checksum: null }],
  });
  const begin = async (digest = ONE, of = entry) => {
    const folder = await of.openPartial(manifest(digest));
    await writeFile(join(folder, 'weights'), 'data');
  };
  const make = async (digest = ONE, of = entry) => {
    await begin(digest, of);
    await of.complete(manifest(digest));
  };
  const inodeOf = async (path: string) => (await stat(path)).ino;

  it('is not taken from its readers by a pod that is done later', async () => {
    const later = new CacheEntry(entry.folder, 'pod-2');
    await begin(ONE, later);
    const aside = join(cache, 'aside');
    await rename(join(entry.folder, `partial-${ONE}`), aside);
    await make();
    const inode = await inodeOf(entry.folderOf(ONE));
    await rename(aside, join(entry.folder, `partial-${ONE}`));
    await later.complete(manifest());
    expect(await inodeOf(entry.folderOf(ONE))).to.equal(inode);
    expect((await readdir(entry.folder)).sort()).to.deep.equal([ONE, `${ONE}.json`]);
  });

  it('is not downloaded by a pod that gets the lock just after another was done', async () => {
    await make();
    const checks = [false, true, true];
    const isComplete = CacheEntry.prototype.isComplete;
    CacheEntry.prototype.isComplete = async () => checks.shift() ?? true;
    try {
      const reads: string[] = [];
      const { how } = await loadWeights({
        cache: { folder: cache, limitBytes: undefined },
        entry: 'a',
        source: {
          name: 'org/model',
          list: async () => manifest(),
          read: async ({ path }) => {
            reads.push(path);
            return (async function* () {
              yield Buffer.from('data');
            })();
          },
        },
        pod: 'pod-2',
        signal: new AbortController().signal,
        log: () => {},
      });
      expect([how, reads]).to.deep.equal(['awaited', []]);
    } finally {
      CacheEntry.prototype.isComplete = isComplete;
    }
  });

  it('is used again after a crash before its marker was written', async () => {
    await make();
    await rm(join(entry.folder, `${ONE}.json`));
    const folder = await entry.openPartial(manifest());
    expect(await readFile(join(folder, 'weights'), 'utf8')).to.equal('data');
    expect(await entry.isComplete(ONE)).to.equal(false);
    await entry.complete(manifest());
    expect(await entry.isComplete(ONE)).to.equal(true);
  });

  it('goes for good after a crash in the midst of its eviction, unless a pod waits for it', async () => {
    await make();
    await make(TWO);
    for (const digest of [ONE, TWO])
      await rename(join(entry.folder, `${digest}.json`), join(entry.folder, `${digest}.evicted`));
    await entry.lease('pod-2', TWO);
    const now = await readVolumeTime(cache);
    await entry.sweep(now);
    expect(await readdir(entry.folder)).to.include(ONE);
    const lease = join(entry.folder, 'leases', 'pod-2');
    const later = new Date(now + HOUR_MS);
    await utimes(lease, later, later);
    await entry.sweep(now + HOUR_MS);
    expect(await readdir(entry.folder)).to.have.members([TWO, `${TWO}.evicted`, 'leases']);
  });

  it('that is unfinished goes only where its room is needed, and also beside one that is wanted now', async () => {
    await begin(ONE);
    await mkdir(join(cache, 'b'), { recursive: true });
    const other = new CacheEntry(join(cache, 'b'), 'pod-3');
    await begin(TWO, other);
    const now = await readVolumeTime(cache);
    expect(await entry.lock.acquire(now)).to.equal(true);
    const wanted = { folder: entry.folder, digest: TWO, bytes: 4, missingBytes: 4 };
    expect(await makeRoom({ folder: cache, limitBytes: 12 }, wanted, true)).to.deep.equal([]);
    expect((await other.list()).partials).to.have.length(1);
    expect(await makeRoom({ folder: cache, limitBytes: 4 }, wanted, true)).to.have.length(2);
    expect((await entry.list()).partials).to.deep.equal([]);
  });
});
