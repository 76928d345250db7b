/** Holds the end of a replica's event stream back until its event is whole: only then can an error event follow it. */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';

/** A longer event, such as an image, passes in parts. */
const MAX_HELD_BYTES = 256 * 1024;
const LF = 0x0a;
/** Replicas end lines with LF. */
const BLANK = '\n\n';

export class WholeEvents {
  readonly #held = new GrowingBuffer();
  #last = 0;
  /** Part of an event has passed. */
  isCut = false;

  /** What may pass now. */
  push(chunk: Buffer): Buffer {
    const last = chunk.lastIndexOf(BLANK, undefined, 'latin1');
    const isEnd = last < 0 && this.#last === LF && chunk[0] === LF;
    const end = isEnd ? 1 : last < 0 ? 0 : last + BLANK.length;
    if (chunk.length > 0) this.#last = chunk.at(-1)!;
    if (end > 0 && end === chunk.length && this.#held.length === 0) {
      this.isCut = false;
      return chunk;
    }
    if (end === 0) {
      this.#held.add(chunk);
      return this.#held.length > MAX_HELD_BYTES ? this.#pass(true) : EMPTY;
    }
    this.#held.add(chunk.subarray(0, end));
    const whole = this.#pass(false);
    this.#held.add(chunk.subarray(end));
    return whole;
  }

  /** What is left at the end of a stream. */
  get rest(): Buffer {
    return this.#held.read();
  }

  #pass(isCut: boolean): Buffer {
    this.isCut = isCut;
    const bytes = this.#held.read();
    this.#held.clear();
    return bytes;
  }
}

const EMPTY = Buffer.alloc(0);
