/** Ensures that a source's weights are cached: already present, by downloading, or by waiting for another's download. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep, systemClock } from '../kit/clock.ts';
import { retry } from '../kit/retry.ts';
import { downloadFile } from './download.ts';
import { CacheEntry } from './entry.ts';
import { type CacheOptions, formatGibibytes, makeRoom } from './eviction.ts';
import { type Manifest, SourceError, totalBytes, type WeightsSource } from './source.ts';
import { readVolumeTime } from './volume.ts';

export interface LoadOptions {
  cache: CacheOptions;
  /** Name of the source's folder in the cache. */
  entry: string;
  source: WeightsSource;
  /** The pod whose engine reads the weights; undefined for a prefetch, which evicts nothing. */
  pod: string | undefined;
  signal: AbortSignal;
  log: (message: string) => void;
  clock?: Clock;
  idleTimeoutMs?: number;
}

export interface Loaded {
  how: 'cached' | 'downloaded' | 'awaited';
  digest: string;
  bytes: number;
  /** Why the source was unreachable, if a cached version is used instead. */
  unasked?: string;
}

const WAIT_MS = 1_000;
const FILES_AT_ONCE = 4;
const LIST_ATTEMPTS = 5;
const LIST_BACKOFF = { baseMs: 500, maxMs: 8_000 };
/** Retries while others take the space meanwhile. */
const EVICTION_ATTEMPTS = 3;

/** Throws SourceError, InsufficientSpaceError, or errors of the volume. */
export async function loadWeights(options: LoadOptions): Promise<Loaded> {
  const { cache, source, pod, signal, log, clock = systemClock } = options;
  const entry = new CacheEntry(join(cache.folder, options.entry), pod);
  const listed = await listSource(options);
  if ('unasked' in listed) {
    const digest = await leaseCurrent(entry, pod);
    if (digest === undefined) throw listed.unasked;
    log(`${listed.unasked.message}; using ${digest}, which is in the cache`);
    return { how: 'cached', digest, bytes: 0, unasked: listed.unasked.message };
  }
  const { digest } = listed;
  const bytes = totalBytes(listed);
  let how: Loaded['how'] = 'cached';
  for (let isFirst = true; ; isFirst = false) {
    signal.throwIfAborted();
    const now = await (pod === undefined ? readVolumeTime(cache.folder) : entry.lease(pod, digest));
    if (await entry.isComplete(digest)) break;
    // A volume that shows names or sizes other than written would never pass.
    if (how === 'downloaded') throw new Error('the volume does not show what was downloaded');
    if (await entry.lock.acquire(now)) {
      how = (await downloadUnderLock(entry, listed, options)) ? 'downloaded' : 'awaited';
    } else {
      how = 'awaited';
      if (isFirst) log(`another pod is downloading ${source.name}; waiting for it`);
      await sleep(clock, WAIT_MS, signal);
    }
  }
  await entry.select(digest);
  return { how, digest, bytes };
}

const isTransient = (error: unknown): error is SourceError =>
  error instanceof SourceError && error.isTransient;

async function listSource({
  source,
  signal,
  log,
  clock = systemClock,
}: LoadOptions): Promise<Manifest | { unasked: SourceError }> {
  try {
    return await retry(() => source.list(signal), {
      backoff: LIST_BACKOFF,
      isTransient,
      maxAttempts: LIST_ATTEMPTS,
      onRetry: ({ message }) => log(`${message}; trying again`),
      signal,
      clock,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (isTransient(error)) return { unasked: error };
    throw error;
  }
}

/** An earlier version, if the source is unreachable. */
async function leaseCurrent(entry: CacheEntry, pod: string | undefined): Promise<string | undefined> {
  const digest = await entry.current();
  if (digest === undefined) return undefined;
  if (pod !== undefined) await entry.lease(pod, digest);
  if (!(await entry.isComplete(digest))) return undefined;
  await entry.select(digest);
  return digest;
}

/** False if another pod finished before the lock was free. */
async function downloadUnderLock(
  entry: CacheEntry,
  manifest: Manifest,
  options: LoadOptions,
): Promise<boolean> {
  const { clock = systemClock, log } = options;
  const stop = entry.lock.keep(clock);
  try {
    if (await entry.isComplete(manifest.digest)) return false;
    for (let attempt = 1; ; attempt++) {
      try {
        await download(entry, manifest, options);
        break;
      } catch (error) {
        const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
        if (!isFull || attempt === EVICTION_ATTEMPTS) throw error;
        log('the volume became full; making room again');
      }
    }
    await entry.complete(manifest);
    return true;
  } finally {
    await stop();
  }
}

async function download(entry: CacheEntry, manifest: Manifest, options: LoadOptions): Promise<void> {
  const { cache, source, pod, signal, log, clock = systemClock, idleTimeoutMs } = options;
  const { digest, files } = manifest;
  const bytes = totalBytes(manifest);
  const folder = await entry.openPartial(manifest);
  const missingBytes = bytes - (await countPresent(folder, manifest));
  const wanted = { folder: entry.folder, digest, bytes, missingBytes };
  for (const evicted of await makeRoom(cache, wanted, pod !== undefined)) log(`evicted ${evicted}`);
  await source.findChecksums?.(manifest, signal);
  const progress = new Progress(bytes, clock, (text) => log(`${source.name}: ${text}`));
  const stopping = new AbortController();
  const queue = [...files].sort((a, b) => b.size - a.size);
  const work = async () => {
    for (let file = queue.shift(); file && !stopping.signal.aborted; file = queue.shift())
      await downloadFile(join(folder, file.path), file, {
        source,
        signal: AbortSignal.any([signal, stopping.signal]),
        onBytes: (count) => progress.add(count),
        clock,
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
      });
  };
  const workers = Array.from({ length: FILES_AT_ONCE }, () =>
    work().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(workers);
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  // The first is why the others were stopped.
  const failure = failures.find((reason) => (reason as Error).name !== 'AbortError') ?? failures[0];
  if (failure) throw failure;
}

async function countPresent(folder: string, { files }: Manifest): Promise<number> {
  let present = 0;
  for (const { path, size } of files)
    for (const name of [path, `${path}.partial`]) {
      const found = await stat(join(folder, name)).catch(() => undefined);
      if (found) present += Math.min(found.size, size);
    }
  return present;
}

const REPORT_MS = 10_000;

/** Periodic progress lines. */
class Progress {
  readonly #total: number;
  readonly #clock: Clock;
  readonly #report: (text: string) => void;
  #done = 0;
  #reportedAt: number;

  constructor(total: number, clock: Clock, report: (text: string) => void) {
    this.#total = total;
    this.#clock = clock;
    this.#report = report;
    this.#reportedAt = clock.now();
  }

  add(count: number): void {
    this.#done += count;
    const now = this.#clock.now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    const percent = Math.floor((100 * this.#done) / Math.max(1, this.#total));
    this.#report(`${percent} % of ${formatGibibytes(this.#total)}`);
  }
}
