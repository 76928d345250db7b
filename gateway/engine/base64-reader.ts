/**
 * Takes apart an answer with images while it arrives: each `b64_json` becomes bytes at once, and all else stays text. Read whole, the answer
 * would be in memory as it came, as text, as a value and decoded.
 */
import { randomUUID } from 'node:crypto';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';

const KEY = 'b64_json';
/** No key begins like this one. */
const NO_KEY = '"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Between a key and its value. */
const COLON = /^[ \t\n\r]*:[ \t\n\r]*$/;
const MAX_COLON_CHARACTERS = 100;
/** The last group of a value, with its padding. */
const ENDING = /^[A-Za-z0-9+/]+={0,2}$/;
/** Decoded like two others, it could not be told from them. */
const URL_SAFE = /[-_]/;
/** More than any request asks for. */
const MAX_VALUES = 100;
const MIN_VALUE_CAPACITY = 64 * 1024;

/**
 * A string that is anything but base64, such as a data URL, stays where it is, and so does what is no JSON: the text differs from the answer in
 * decoded strings alone.
 */
export class Base64Reader {
  /** Size of the answer. */
  readonly #total: number;
  #seen = 0;
  /** Before the number of what was decoded; no engine knows it. */
  readonly #mark = `#${randomUUID()}:`;
  readonly #rest = new GrowingBuffer();
  readonly #values: Buffer[] = [];
  /** From where the chunk at hand is kept. */
  #from = 0;
  /** The string at hand, as far as it may be the key; null outside. */
  #name: string | null = null;
  #isEscaped = false;
  /** What came since the key; null after other strings. */
  #gap: string | null = null;
  /** The current value, and the end of what has arrived of it. */
  #value: GrowingBuffer | null = null;
  #pending = '';

  /** `totalBytes`: of the answer; 0 where that is unknown. */
  constructor(totalBytes: number) {
    this.#total = totalBytes;
  }

  write(chunk: Buffer): void {
    this.#from = 0;
    for (let at = 0; at < chunk.length; )
      if (this.#value) at = this.#readValue(this.#value, chunk, at);
      else if (this.#name !== null) at = this.#readString(this.#name, chunk, at);
      else at = this.#readOutside(chunk, at);
    if (!this.#value) this.#keep(chunk, chunk.length);
    this.#seen += chunk.length;
  }

  /** The answer, with a word in the place of each string that was decoded. */
  end(): string {
    if (this.#value) this.#giveUp(this.#value);
    return this.#rest.toString();
  }

  /** What a string of the text stands for; undefined: for itself. */
  find(text: string): Buffer | undefined {
    return text.startsWith(this.#mark) ? this.#values[Number(text.slice(this.#mark.length))] : undefined;
  }

  /** This and the next two answer up to where they have read. */
  #readOutside(chunk: Buffer, at: number): number {
    const { end, next } = findQuote(chunk, at);
    if (this.#gap !== null) this.#gap = extendGap(this.#gap, chunk.subarray(at, end));
    if (next === end) return next;
    if (this.#gap !== null && COLON.test(this.#gap) && this.#values.length < MAX_VALUES) {
      this.#keep(chunk, next);
      const left = this.#total - this.#seen - next;
      this.#value = new GrowingBuffer(Math.max(Math.ceil((left * 3) / 4), MIN_VALUE_CAPACITY));
      this.#pending = '';
    } else this.#name = '';
    this.#gap = null;
    return next;
  }

  #readString(name: string, chunk: Buffer, at: number): number {
    const { end, next } = findQuote(chunk, at);
    const more = chunk.toString('latin1', at, Math.min(end, at + KEY.length + 1));
    this.#name = (name + more).slice(0, KEY.length + 1);
    this.#isEscaped = endsInEscape(chunk.subarray(at, end), this.#isEscaped);
    if (next === end) return next;
    if (this.#isEscaped) this.#isEscaped = false;
    else {
      this.#gap = this.#name === KEY ? '' : null;
      this.#name = null;
    }
    return next;
  }

  #readValue(value: GrowingBuffer, chunk: Buffer, at: number): number {
    const { end, next } = findQuote(chunk, at);
    const text = this.#pending + chunk.toString('latin1', at, end);
    const isAll = next > end;
    // The last group, which may be a padded one, comes with the end.
    const whole = Math.max(0, 4 * Math.ceil(text.length / 4) - 4);
    const groups = text.slice(0, whole);
    const rest = text.slice(whole);
    const isOdd = URL_SAFE.test(text) || groups.includes('=') || (isAll && !ENDING.test(rest));
    if (isOdd || !value.addText(groups, 'base64')) {
      this.#giveUp(value);
      this.#from = at;
      return at;
    }
    this.#pending = rest;
    if (!isAll) return next;
    value.addText(rest, 'base64');
    this.#rest.addText(`${this.#mark}${this.#values.length}`, 'latin1');
    this.#values.push(value.read());
    this.#value = null;
    this.#from = end;
    return next;
  }

  /** The value is text like any other. */
  #giveUp(value: GrowingBuffer): void {
    this.#rest.addText(value.toString('base64') + this.#pending, 'latin1');
    this.#value = null;
    this.#name = NO_KEY;
    this.#isEscaped = endsInEscape(Buffer.from(this.#pending, 'latin1'), false);
  }

  #keep(chunk: Buffer, end: number): void {
    if (end > this.#from) this.#rest.add(chunk.subarray(this.#from, end));
  }
}

/** null for one that is too long to be a colon. */
function extendGap(gap: string, more: Buffer): string | null {
  const text = gap + more.toString('latin1', 0, MAX_COLON_CHARACTERS);
  return text.length < MAX_COLON_CHARACTERS ? text : null;
}

/** Where the next quote is, and what follows it; the end of the chunk, both, where there is none. */
function findQuote(chunk: Buffer, at: number): { end: number; next: number } {
  const quote = chunk.indexOf(QUOTE, at);
  return quote < 0 ? { end: chunk.length, next: chunk.length } : { end: quote, next: quote + 1 };
}

/** Whether a part of a string ends with a backslash that changes what comes next; `before`: the part before did. */
function endsInEscape(part: Buffer, before: boolean): boolean {
  let backslashes = 0;
  while (part.at(-1 - backslashes) === BACKSLASH) backslashes++;
  const isOdd = backslashes % 2 === 1;
  return backslashes === part.length ? isOdd !== before : isOdd;
}
