/** Holds results on disk between the engine and the bucket: an upload needs its length and may be retried. */
import { randomUUID } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { removeLostSpools } from './spool-folder.ts';
import { UploadError } from './upload-error.ts';

export interface SpooledFile {
  path: string;
  bytes: number;
  /** Frees its space; idempotent. */
  remove(): Promise<void>;
}

export interface SpoolOptions {
  /** Used by this spool only. */
  folder: string;
  /** Limit of all files at once. */
  maxBytes: number;
}

export class Spool {
  readonly #options: SpoolOptions;
  readonly #held = new Map<string, number>();
  #used = 0;

  private constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** Removes what an earlier process left in the folder. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await rm(options.folder, { recursive: true, force: true });
    await mkdir(options.folder, { recursive: true });
    await removeLostSpools(options.folder);
    return new Spool(options);
  }

  /** Removes the folder and its content. */
  async close(): Promise<void> {
    await rm(this.#options.folder, { recursive: true, force: true });
  }

  /** Bytes of all held files. */
  get used(): number {
    return this.#used;
  }

  /** At least half of the space is free. */
  get isHalfFree(): boolean {
    return 2 * this.#used <= this.#options.maxBytes;
  }

  /** Whether a tenant may hold so many more bytes: it never uses more than it leaves free. */
  #hasSpace(tenant: string | undefined, bytes: number): boolean {
    const free = this.#options.maxBytes - this.#used - bytes;
    return free >= 0 && (tenant === undefined || (this.#held.get(tenant) ?? 0) + bytes <= free);
  }

  #count(tenant: string | undefined, bytes: number): void {
    this.#used += bytes;
    if (tenant === undefined) return;
    const held = (this.#held.get(tenant) ?? 0) + bytes;
    if (held === 0) this.#held.delete(tenant);
    else this.#held.set(tenant, held);
  }

  /**
   * Reads the source to its end. `tenant`: whose share of the space the file uses; the process's own files have none. Throws
   * UploadError, the source's own error or the signal's reason.
   */
  async hold(
    source: AsyncIterable<Buffer>,
    { maxBytes, signal, tenant }: { maxBytes: number; signal?: AbortSignal; tenant?: string },
  ): Promise<SpooledFile> {
    const path = join(this.#options.folder, randomUUID());
    let bytes = 0;
    let isHeld = true;
    const remove = async () => {
      if (isHeld) this.#count(tenant, -bytes);
      isHeld = false;
      await rm(path, { force: true });
    };
    const count = async function* (this: Spool, chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        if (bytes + chunk.length > maxBytes) throw new UploadError('tooLarge');
        if (!this.#hasSpace(tenant, chunk.length)) throw new UploadError('spool');
        bytes += chunk.length;
        this.#count(tenant, chunk.length);
        yield chunk;
      }
    }.bind(this);
    const file = createWriteStream(path, { flags: 'wx' });
    try {
      await pipeline(source, count, file, { signal });
      return { path, bytes, remove };
    } catch (error) {
      // A file still being opened would be created after its removal.
      await untilClosed(file);
      await remove();
      signal?.throwIfAborted();
      const { code } = error as NodeJS.ErrnoException;
      throw code === 'ENOSPC' || code === 'EDQUOT' ? new UploadError('spool', error) : error;
    }
  }
}

/** Waits until a destroyed stream is closed. */
const untilClosed = (file: WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (file.closed) resolve();
    else file.once('close', resolve);
  });
