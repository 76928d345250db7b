/** Objects as files of one folder, written atomically. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isPlainKey } from './object-keys.ts';
import { StorageError, type StorageReason } from './storage-error.ts';

/** An object that is open for reading; its file stays the same even if the object is replaced. */
export interface OpenObject {
  contentType: string;
  /** Bytes. */
  contentLength: number;
  modifiedMs: number;
  /** Streams bytes `start` to `end`, inclusive; the whole by default. Closes the object when it ends. */
  read(range?: { start: number; end: number }): Readable;
  close(): Promise<void>;
}

export class ObjectFolder {
  readonly #objects: string;
  /** The objects' content types by key: not every filesystem can store them with the file. */
  readonly #types: string;
  readonly #partial: string;

  constructor(folder: string) {
    this.#objects = join(folder, 'objects');
    this.#types = join(folder, 'types');
    this.#partial = join(folder, 'partial');
  }

  /** Removes partial files left by a crash; only before anything is written. */
  async tidy(): Promise<void> {
    await this.#guard(() => rm(this.#partial, { recursive: true, force: true }));
  }

  /** Throws StorageError; an interrupted source leaves nothing behind. */
  async write(key: string, source: Readable | Buffer, contentType: string): Promise<void> {
    requirePlain(key);
    await this.#guard(async () => {
      const body = await this.#hold(Buffer.isBuffer(source) ? Readable.from([source]) : source);
      try {
        const type = await this.#hold(Readable.from([Buffer.from(contentType)]));
        await moveTo(join(this.#types, key), type);
        await moveTo(join(this.#objects, key), body);
      } catch (error) {
        await rm(body, { force: true });
        throw error;
      }
    });
  }

  /** null if there is none. Throws StorageError. */
  async open(key: string): Promise<OpenObject | null> {
    requirePlain(key);
    return this.#guard(async () => {
      const file = await orNull(
        open(join(this.#objects, key), constants.O_RDONLY | constants.O_NOFOLLOW),
        'ENOENT',
        'ENOTDIR',
      );
      const facts = file && (await file.stat());
      if (!facts?.isFile()) {
        await file?.close();
        return null;
      }
      const contentType = await orNull(readFile(join(this.#types, key), 'utf8'), 'ENOENT');
      return {
        contentType: contentType ?? 'application/octet-stream',
        contentLength: facts.size,
        modifiedMs: facts.mtimeMs,
        read: (range) => readAll(file!, range),
        close: () => file!.close(),
      };
    });
  }

  /** Throws StorageError. */
  async delete(key: string): Promise<void> {
    requirePlain(key);
    await this.#guard(async () => {
      for (const tree of [this.#objects, this.#types]) {
        await rm(join(tree, key), { force: true });
        await removeEmpty(dirname(join(tree, key)), tree);
      }
    });
  }

  /** The path of a complete file that is not an object yet. */
  async #hold(source: Readable): Promise<string> {
    await mkdir(this.#partial, { recursive: true });
    const path = join(this.#partial, randomUUID());
    try {
      const file = await open(path, 'wx');
      await pipeline(source, file.createWriteStream({ flush: true }));
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async #guard<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      throw new StorageError(REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'failed', error);
    }
  }
}

const REASONS: Record<string, StorageReason> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'tooLarge',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
};

function requirePlain(key: string): void {
  if (!isPlainKey(key)) throw new RangeError(`"${key}" is not a valid object key`);
}

const readAll = (file: FileHandle, range: { start: number; end: number } | undefined): Readable =>
  file.createReadStream({ ...range, highWaterMark: 256 * 1024 });

async function orNull<Result>(promise: Promise<Result>, ...codes: string[]): Promise<Result | null> {
  try {
    return await promise;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

const MAX_RENAME_ATTEMPTS = 10;

async function moveTo(path: string, from: string): Promise<void> {
  for (let left = MAX_RENAME_ATTEMPTS; ; left--) {
    await mkdir(dirname(path), { recursive: true });
    const isMoved = rename(from, path).then(() => true);
    // The folder may just have been removed with the last object in it.
    if (await (left > 1 ? orNull(isMoved, 'ENOENT') : isMoved)) return;
  }
}

async function removeEmpty(folder: string, top: string): Promise<void> {
  for (let current = folder; current !== top; current = dirname(current))
    if (
      (await orNull(
        rmdir(current).then(() => true),
        'ENOTEMPTY',
        'EEXIST',
        'ENOENT',
      )) === null
    )
      return;
}
