/** Downloads one file: resumes where another attempt or pod stopped, and keeps it only if its checksum is right. */
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, sleep, systemClock } from '../kit/clock.ts';
import { backoffDelay } from '../kit/retry.ts';
import { type Check, startCheck } from './checksum.ts';
import { describeCause } from './hub-source.ts';
import { SourceError, type WeightsFile, type WeightsSource } from './source.ts';

export interface DownloadOptions {
  source: WeightsSource;
  signal: AbortSignal;
  onBytes: (count: number) => void;
  /** Bytes of an earlier attempt, while they are read again for the checksum; `onBytes` if absent. */
  onPresent?: (count: number) => void;
  clock?: Clock;
  /** Idle timeout of the connection. */
  idleTimeoutMs?: number;
}

const IDLE_TIMEOUT_MS = 60_000;
const BACKOFF = { baseMs: 500, maxMs: 15_000 };
/** Consecutive, without progress in between. */
const MAX_FAILURES = 8;
/** Complete downloads with a wrong checksum. */
const MAX_CORRUPT = 3;
const READ_BYTES = 1024 * 1024;

/**
 * Two pods may write the same file at once, if one has lost its lock: each writes the same bytes to the same offsets,
 * and the checksum finds errors.
 */
export async function downloadFile(path: string, file: WeightsFile, options: DownloadOptions): Promise<void> {
  if ((await sizeOf(path)) === file.size) return options.onBytes(file.size);
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.partial`;
  for (let attempt = 1; attempt <= MAX_CORRUPT; attempt++) {
    const isRight = await fill(partial, file, options);
    if (isRight) return rename(partial, path);
    await rm(partial, { force: true });
    options.onBytes(-file.size);
  }
  throw new SourceError(
    `${file.path} of ${options.source.name} does not match the checksum from its source`,
    {
      isTransient: false,
    },
  );
}

/** Whether the file is right once it has its size. */
async function fill(partial: string, file: WeightsFile, options: DownloadOptions): Promise<boolean> {
  const handle = await open(partial, 'a').then(async (created) => {
    await created.close();
    return open(partial, 'r+');
  });
  try {
    const check = startCheck(file);
    const present = await readPresent(handle, { file, check }, options);
    await fetchRest(handle, { file, check, present }, options);
    await handle.sync();
    return check.isRight();
  } finally {
    await handle.close();
  }
}

/** Bytes already downloaded. */
async function readPresent(
  handle: FileHandle,
  { file: { size }, check }: { file: WeightsFile; check: Check },
  { onBytes, onPresent = onBytes }: DownloadOptions,
): Promise<number> {
  const present = (await handle.stat()).size;
  if (present > size) await handle.truncate(0);
  if (present > size || present === 0) return 0;
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let position = 0;
  while (position < present) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(READ_BYTES, present - position), position);
    if (bytesRead === 0) break;
    check.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
    onPresent(bytesRead);
  }
  return position;
}

async function fetchRest(
  handle: FileHandle,
  { file, check, present }: { file: WeightsFile; check: Check; present: number },
  { source, signal, onBytes, clock = systemClock, idleTimeoutMs = IDLE_TIMEOUT_MS }: DownloadOptions,
): Promise<void> {
  let position = present;
  let failures = 0;
  while (position < file.size) {
    const before = position;
    try {
      const idle = new IdleTimer(clock, idleTimeoutMs);
      try {
        const bytes = await source.read(file, position, AbortSignal.any([signal, idle.signal]));
        for await (const chunk of bytes) {
          idle.restart();
          const wanted = chunk.subarray(0, file.size - position);
          await writeAll(handle, wanted, position);
          check.update(wanted);
          position += wanted.length;
          onBytes(wanted.length);
          if (position === file.size) break;
        }
      } finally {
        idle.stop();
      }
      if (position < file.size)
        throw new SourceError('the connection was interrupted', { isTransient: true });
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      failures = position > before ? 1 : failures + 1;
      if (failures >= MAX_FAILURES) throw explain(error, source);
      await sleep(clock, backoffDelay(BACKOFF, failures), signal);
    }
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length)
    written += (await handle.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
}

/** Disk errors, as opposed to network errors. */
const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS', 'EIO', 'ESTALE', 'ENOENT', 'EBADF']);

const mayPass = (error: unknown): boolean =>
  error instanceof SourceError
    ? error.isTransient
    : !DISK_ERRORS.has((error as NodeJS.ErrnoException).code ?? '');

const explain = (error: unknown, { name }: WeightsSource): Error =>
  error instanceof SourceError
    ? error
    : new SourceError(`${name} cannot be downloaded: ${describeCause(error)}`, {
        isTransient: true,
        cause: error,
      });

class IdleTimer {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  #cancel = () => {};

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(this.#ms, () =>
      this.#controller.abort(
        new SourceError(`no data received for ${this.#ms / 1_000} s`, { isTransient: true }),
      ),
    );
  }

  stop(): void {
    this.#cancel();
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
