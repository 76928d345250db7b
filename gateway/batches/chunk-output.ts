/** What a chunk writes: its answers and its errors, each into a file on disk and from there into the store. */
import { PassThrough } from 'node:stream';
import type { StoredObject } from '../../api/request.ts';
import type { ChunkClaim, ChunkOutcome } from '../../redis/batches/batch-records.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { Bill } from '../account/account.ts';
import type { StorageServices } from '../jobs/services.ts';
import { resultKey } from '../storage/object-keys.ts';
import type { Spool, SpooledFile } from '../storage/spool.ts';
import { storeFiles } from '../storage/uploads.ts';

const MAX_PART_BYTES = 4 * 1024 ** 3;
/** Removed then, unless the chunk is finished by then. */
const ORPHANED_MS = 3_600_000;
const STORE_TIMEOUT_MS = 300_000;

/** A file that is written line by line; none without a line. */
class LineFile {
  readonly #source = new PassThrough();
  readonly #held: Promise<SpooledFile>;
  lines = 0;

  /** `onFault`: there is no space for it. The error is that of `end`. */
  constructor(spool: Spool, onFault: () => void) {
    this.#held = spool.hold(this.#source, { maxBytes: MAX_PART_BYTES });
    this.#held.catch(onFault);
  }

  add(line: string): void {
    this.lines++;
    this.#source.write(`${line}\n`);
  }

  end(): Promise<SpooledFile> {
    this.#source.end();
    return this.#held;
  }
}

export class ChunkOutput {
  readonly #answers: LineFile;
  readonly #errors: LineFile;
  readonly #used = { micros: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, totalTokens: 0 };
  #files: SpooledFile[] | null = null;

  /** `onFault`: it can no longer be stored. */
  constructor(spool: Spool, onFault: () => void) {
    this.#answers = new LineFile(spool, onFault);
    this.#errors = new LineFile(spool, onFault);
  }

  addAnswer(line: string, bill: Bill | null): void {
    this.#answers.add(line);
    this.#count(bill);
  }

  /** `bill`: what it has used before it failed. */
  addError(line: string, bill: Bill | null = null): void {
    this.#errors.add(line);
    this.#count(bill);
  }

  /** Millionths that its lines have cost. */
  get micros(): number {
    return this.#used.micros;
  }

  /** May be repeated. Throws as `storeFiles`. */
  async store(
    services: StorageServices & { redis: RedisClient },
    claim: ChunkClaim,
    signal: AbortSignal,
  ): Promise<ChunkOutcome> {
    this.#files ??= await Promise.all([this.#answers.end(), this.#errors.end()]);
    const { namespace: workspace, id: request, token } = claim;
    const files = this.#files.flatMap((file, index) =>
      file.bytes === 0
        ? []
        : [
            {
              file,
              key: resultKey({ workspace, request, token }, index, 'jsonl'),
              contentType: 'application/jsonl',
            },
          ],
    );
    const stored = await storeFiles(services, {
      ...{ namespace: workspace, credential: null, files, signal },
      ...{ removeInMs: ORPHANED_MS, deadlineMs: STORE_TIMEOUT_MS },
    });
    const [output, errors] = this.#files.map((file) => {
      const at = files.findIndex((each) => each.file === file);
      return at < 0 ? null : { object: stored.objects[at] as StoredObject, bytes: file.bytes };
    });
    return {
      output: output!,
      errors: errors!,
      completed: this.#answers.lines,
      failed: this.#errors.lines,
      ...this.#used,
    };
  }

  /** Frees its space on disk. */
  async remove(): Promise<void> {
    const ends = await Promise.allSettled([this.#answers.end(), this.#errors.end()]);
    await Promise.all(ends.map((end) => end.status === 'fulfilled' && end.value.remove()));
  }

  #count(bill: Bill | null): void {
    if (!bill) return;
    this.#used.micros += bill.micros;
    if (!bill.usage) return;
    this.#used.inputTokens += bill.usage.inputTokens;
    this.#used.cachedTokens += bill.usage.cachedInputTokens;
    this.#used.outputTokens += bill.usage.outputTokens;
    this.#used.totalTokens += bill.usage.totalTokens;
  }
}
