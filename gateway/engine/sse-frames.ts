/** Splits an engine's event stream into whole frames, and parses frames. */

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
  /** Chunks of an unfinished frame, joined once it ends: a frame of megabytes arrives in hundreds of chunks. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #tail = '';

  /** End of the whole frames in `data`; 0 if there is none yet. */
  push(chunk: Buffer): number {
    if (this.#bytes > 0 && !this.#endsFrame(chunk)) {
      this.data = EMPTY;
      this.text = '';
      this.#hold(chunk);
      return 0;
    }
    this.data = this.#bytes === 0 ? chunk : Buffer.concat([...this.#parts, chunk]);
    this.text = this.data.toString('latin1');
    const end = this.#findEnd();
    if (this.#bytes > 0) this.#release();
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
    return this.#bytes > MAX_FRAME_BYTES;
  }

  /** Bytes after the last whole frame. */
  get rest(): string | null {
    return this.#bytes === 0 ? null : Buffer.concat(this.#parts).toString('utf8');
  }

  #hold(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#tail = (this.#tail + part.toString('latin1', Math.max(part.length - TAIL, 0))).slice(-TAIL);
  }

  #release(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#tail = '';
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
