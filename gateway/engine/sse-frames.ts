/** Reads an engine's event stream: cuts it into whole frames, whatever ends its lines, and parses frames. */
import { isUtf8 } from 'node:buffer';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { toBytesText } from '../http/event-stream.ts';

const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
/** A blank line, which ends a frame. */
const BLANK = '\n\n';
const EMPTY = Buffer.alloc(0);

/** Each line may end with LF, CR or CRLF, also cut between chunks; in what it returns, all end with LF. */
export class SseFrames {
  /** The latest chunk that ended a frame, including what was held of earlier ones; valid UTF-8 up to that end. */
  data: Buffer = EMPTY;
  /** The same, one character per byte, so that offsets in the string match the buffer. */
  text = '';
  /** An unfinished frame: one of megabytes arrives in hundreds of chunks. */
  readonly #held = new GrowingBuffer();
  #isLineHeld = false;
  /** The last byte was a CR: an LF that follows belongs to it. */
  #isAfterCR = false;
  #hasBegun = false;

  /** End of the whole frames in `data`; 0 if there is none yet. */
  push(chunk: Buffer): number {
    const part = this.#unifyLines(chunk);
    if (this.#held.length > 0 && !this.#endsFrame(part)) {
      this.data = EMPTY;
      this.text = '';
      this.#hold(part);
      return 0;
    }
    this.data = this.#held.length === 0 ? part : this.#joinHeld(part);
    this.text = this.data.toString('latin1');
    const last = this.text.lastIndexOf(BLANK);
    const end = last < 0 ? 0 : last + BLANK.length;
    if (end < this.data.length) this.#hold(this.data.subarray(end));
    return end === 0 || (this.#hasBegun && isUtf8(this.data.subarray(0, end))) ? end : this.#repair(end);
  }

  /** End of the frame that starts at `start`; `end` as returned by `push`. An extra blank line counts as a frame, too. */
  findStop(start: number, end: number): number {
    const place = this.text.indexOf(BLANK, start);
    return place < 0 ? end : place + BLANK.length;
  }

  /** Whether the frame is one line of data, after one with its name where that is `isNamed`, and nothing else. */
  isPlain(start: number, stop: number, isNamed = false): boolean {
    const { text } = this;
    const data = isNamed ? text.indexOf('\n', start) + 1 : start;
    if (isNamed && !text.startsWith('event:', start)) return false;
    return text.startsWith('data:', data) && text.indexOf('\n', data) === stop - BLANK.length;
  }

  /** A frame that does not end. */
  get isTooLong(): boolean {
    return this.#held.length > MAX_FRAME_BYTES;
  }

  /** Forgets what is held, for another stream. */
  clear(): void {
    this.#held.clear();
    this.#isLineHeld = false;
    this.#isAfterCR = false;
    this.#hasBegun = false;
  }

  /** Bytes after the last whole frame. */
  get rest(): string | null {
    return this.#held.length === 0 ? null : this.#held.toString();
  }

  #unifyLines(chunk: Buffer): Buffer {
    const part = this.#isAfterCR && chunk[0] === LF ? chunk.subarray(1) : chunk;
    if (chunk.length > 0) this.#isAfterCR = chunk.at(-1) === CR;
    if (!part.includes(CR)) return part;
    return Buffer.from(part.toString('latin1').replace(/\r\n?/g, '\n'), 'latin1');
  }

  #hold(part: Buffer): void {
    this.#held.add(part);
    if (part.length > 0) this.#isLineHeld = part.at(-1) === LF;
  }

  #joinHeld(part: Buffer): Buffer {
    this.#held.add(part);
    const joined = this.#held.read();
    this.#held.clear();
    return joined;
  }

  /** Whether the held frame ends in the part: the held bytes have no blank line. */
  #endsFrame(part: Buffer): boolean {
    return (this.#isLineHeld && part[0] === LF) || part.includes(BLANK, 0, 'latin1');
  }

  /** Without a byte order mark, and with U+FFFD for what is no UTF-8, at which some clients fail. Returns the new end. */
  #repair(end: number): number {
    this.#hasBegun = true;
    const bytes = this.data.subarray(0, end);
    const text = bytes.toString('utf8');
    const isMarked = text.startsWith(BYTE_ORDER_MARK);
    if (!isMarked && isUtf8(bytes)) return end;
    this.data = Buffer.from(isMarked ? text.slice(1) : text);
    this.text = this.data.toString('latin1');
    return this.data.length;
  }
}

const BYTE_ORDER_MARK = '\ufeff';

export interface Frame {
  /** Lines of comments, each with its end. */
  comments: string;
  /** '' if it has none. */
  event: string;
  /** null if it has none. */
  data: string | null;
}

/** `id`, `retry` and unknown fields are dropped: some SDKs take a later comment for an event because of them. */
export function readFrame(text: string): Frame {
  const frame: Frame = { comments: '', event: '', data: null };
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (colon === 0) frame.comments += `${line}\n`;
    else if (field === 'event') frame.event = value;
    else if (field === 'data') frame.data = frame.data === null ? value : `${frame.data}\n${value}`;
  }
  return frame;
}

/** As a frame with one line of data, which is JSON, one character per byte; '' if there is nothing in it. */
export function writeFrame({ comments, event, data }: Frame): string {
  const name = event === '' ? '' : `event: ${event}\n`;
  const lines = data === null ? comments : `${comments}${name}data: ${data.replaceAll('\n', ' ')}\n`;
  return lines === '' ? '' : toBytesText(`${lines}\n`);
}

/** Undefined if it is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
