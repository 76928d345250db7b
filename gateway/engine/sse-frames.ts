/** Cuts an engine's event stream after whole frames, so that half a frame never goes on; and reads a frame. */

const MAX_FRAME_BYTES = 16 * 1024 * 1024;

export class SseFrames {
  /** Of the latest chunk, with what was kept of those before. */
  data: Buffer = Buffer.alloc(0);
  /** The same, one character a byte, so that places in the text are places in the buffer. */
  text = '';
  /** Unknown until the first line has ended. */
  separator = '';
  #rest: Buffer | null = null;

  /** Where the whole frames in `data` end; 0 when there is none yet. */
  push(chunk: Buffer): number {
    this.data = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    this.text = this.data.toString('latin1');
    const end = this.#findEnd();
    this.#rest = end === this.data.length ? null : this.data.subarray(end);
    return end;
  }

  /** A frame that does not end. */
  get isTooLong(): boolean {
    return this.#rest !== null && this.#rest.length > MAX_FRAME_BYTES;
  }

  /** What came after the last whole frame. */
  get rest(): string | null {
    return this.#rest === null ? null : this.#rest.toString('utf8');
  }

  #findEnd(): number {
    if (this.separator === '' && !this.#learnSeparator()) return 0;
    const last = this.text.lastIndexOf(this.separator);
    return last < 0 ? 0 : last + this.separator.length;
  }

  #learnSeparator(): boolean {
    const newline = this.text.indexOf('\n');
    if (newline < 0) return false;
    this.separator = this.text[newline - 1] === '\r' ? '\r\n\r\n' : '\n\n';
    return true;
  }
}

/** The data lines of a frame; null when it has none (a comment, a retry time). */
export function readData(frame: string): string | null {
  let data: string | null = null;
  for (const line of frame.split(/\r?\n/)) {
    if (!line.startsWith('data:')) continue;
    const value = line.slice(line[5] === ' ' ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
}

/** Undefined for what is no JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined for what is no object or list. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJSON(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
