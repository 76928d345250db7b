/** Splits an engine's event stream into whole frames, and parses frames. */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';

const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** The tail of the held bytes in which a separator could start. */
const TAIL = '\r\n\r\n'.length - 1;
const EMPTY = Buffer.alloc(0);

export class SseFrames {
  /** The latest chunk that ended a frame, including what was held of earlier ones. */
  data: Buffer = EMPTY;
  /** The same, one character per byte, so that offsets in the string match the buffer. */
  text = '';
  /** Unknown until the first line has ended. */
  separator = '';
  /** An unfinished frame: one of megabytes arrives in hundreds of chunks. */
  readonly #held = new GrowingBuffer();
  #tail = '';

  /** End of the whole frames in `data`; 0 if there is none yet. */
  push(chunk: Buffer): number {
    if (this.#held.length > 0 && !this.#endsFrame(chunk)) {
      this.data = EMPTY;
      this.text = '';
      this.#hold(chunk);
      return 0;
    }
    this.data = this.#held.length === 0 ? chunk : this.#joinHeld(chunk);
    this.text = this.data.toString('latin1');
    const end = this.#findEnd();
    if (end < this.data.length) this.#hold(this.data.subarray(end));
    return end;
  }

  /** End of the frame that starts at `start`; `end` as returned by `push`. An extra blank line counts as a frame, too. */
  findStop(start: number, end: number): number {
    const place = this.text.indexOf(this.separator, start);
    return place < 0 ? end : place + this.separator.length;
  }

  /** A frame that does not end. */
  get isTooLong(): boolean {
    return this.#held.length > MAX_FRAME_BYTES;
  }

  /** Bytes after the last whole frame. */
  get rest(): string | null {
    return this.#held.length === 0 ? null : this.#held.toString();
  }

  #hold(part: Buffer): void {
    this.#held.add(part);
    this.#tail = (this.#tail + part.toString('latin1', Math.max(part.length - TAIL, 0))).slice(-TAIL);
  }

  #joinHeld(chunk: Buffer): Buffer {
    this.#held.add(chunk);
    const joined = this.#held.read();
    this.#held.clear();
    this.#tail = '';
    return joined;
  }

  /** Whether the held frame ends in the chunk: the held bytes have no separator. */
  #endsFrame(chunk: Buffer): boolean {
    const text = this.#tail + chunk.toString('latin1');
    return this.#knowsSeparator(text) && text.includes(this.separator);
  }

  #findEnd(): number {
    if (!this.#knowsSeparator(this.text)) return 0;
    const last = this.text.lastIndexOf(this.separator);
    return last < 0 ? 0 : last + this.separator.length;
  }

  #knowsSeparator(text: string): boolean {
    if (this.separator !== '') return true;
    const newline = text.indexOf('\n');
    if (newline < 0) return false;
    this.separator = text[newline - 1] === '\r' ? '\r\n\r\n' : '\n\n';
    return true;
  }
}

/** The data lines of a frame; null if it has none (a comment, a retry time). */
export function readData(frame: string): string | null {
  let data: string | null = null;
  for (const line of frame.split(/\r?\n/)) {
    if (!line.startsWith('data:')) continue;
    const value = line.slice(line[5] === ' ' ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
}

/** Undefined if it is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined if it is not an object or array. */
export function parseJSONObject(text: string): Record<string, unknown> | undefined {
  const value = parseJSON(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
