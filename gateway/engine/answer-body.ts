/** The body of an engine's response, which is read as a whole. */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';

/** Embeddings of a large batch as JSON numbers. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Most responses are smaller and are not accounted for. */
const SMALL_BYTES = 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/** Reserves memory; false if there is none left. */
export type Reserve = (bytes: number) => boolean;

export class AnswerBody {
  readonly #reserve: Reserve | undefined;
  /** Most responses are one piece, which is not copied. */
  #only: Buffer | null = null;
  #bytes: GrowingBuffer | null = null;

  /** `reserve`: for a large one. */
  constructor(reserve?: Reserve) {
    this.#reserve = reserve;
  }

  /** Null, or why it is not read on. */
  add(chunk: Buffer): ApiError | null {
    const length = this.#keep(chunk);
    if (length > MAX_ANSWER_BYTES)
      return new ApiError('upstream_error', `The engine's response exceeds ${MAX_ANSWER_BYTES} bytes.`);
    if (length > SMALL_BYTES && this.#reserve?.(chunk.length) === false)
      return refuseAsUnavailable('memory', 'Too many large responses are in progress at the moment.');
    return null;
  }

  read(): Buffer {
    return this.#only ?? this.#bytes?.read() ?? EMPTY;
  }

  /** Returns the length of all. */
  #keep(chunk: Buffer): number {
    if (!this.#only && !this.#bytes) {
      this.#only = chunk;
      return chunk.length;
    }
    this.#bytes ??= new GrowingBuffer();
    if (this.#only) this.#bytes.add(this.#only);
    this.#only = null;
    this.#bytes.add(chunk);
    return this.#bytes.length;
  }
}
