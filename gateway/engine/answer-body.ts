/** The body of an engine's response, which is read as a whole. */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';

/** Embeddings of a large batch as JSON numbers. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Most responses are smaller and are not accounted for. */
const SMALL_BYTES = 1024 * 1024;

/** Reserves memory; false if there is none left. */
export type Reserve = (bytes: number) => boolean;

export class AnswerBody {
  readonly #reserve: Reserve | undefined;
  readonly #bytes = new GrowingBuffer();

  /** `reserve`: for a large one. */
  constructor(reserve?: Reserve) {
    this.#reserve = reserve;
  }

  /** Null, or why it is not read on. */
  add(chunk: Buffer): ApiError | null {
    this.#bytes.add(chunk);
    const { length } = this.#bytes;
    if (length > MAX_ANSWER_BYTES)
      return new ApiError('upstream_error', `The engine's response exceeds ${MAX_ANSWER_BYTES} bytes.`);
    if (length > SMALL_BYTES && this.#reserve?.(chunk.length) === false)
      return refuseAsUnavailable('memory', 'Too many large responses are in progress at the moment.');
    return null;
  }

  read(): Buffer {
    return this.#bytes.read();
  }
}
