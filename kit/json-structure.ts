/** Finds the structure of a JSON text in its bytes, without parsing: what a text costs, where it may be cut. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What `next` returns when there is no further character. */
export const ENDED = -1;
/** What `next` returns at the limit of a slice. */
export const PAUSED = -2;

const STRUCTURAL = new Uint8Array(256);
for (const character of '{[:,"}]') STRUCTURAL[character.charCodeAt(0)] = 1;

/** Beyond this length a native search is faster than a loop. */
const SHORT_STRING_BYTES = 64;

/** Stops at each structural character outside strings, and at the opening quote of each string. */
export class JsonStructure {
  readonly #bytes: Uint8Array;
  #place = 0;
  /** Offset of the opening quote of the string at hand; -1 outside strings. */
  stringStart = -1;
  /** Offset of the closing quote of the latest string that has ended. */
  stringEnd = -1;
  /** Within a string: no quote from here on is known to be escaped. */
  #from = 0;
  /** The next quote within a long string, once it was searched for. */
  #quote = -1;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Offset of the next structural character before `limit`; ENDED or PAUSED. A string is skipped by the next call. */
  next(limit: number): number {
    if (this.stringStart >= 0 && !this.#skipString(limit)) return this.#stop(limit);
    const bytes = this.#bytes;
    const end = Math.min(limit, bytes.length);
    let place = this.#place;
    while (place < end && STRUCTURAL[bytes[place]!] === 0) place++;
    if (place >= end) {
      this.#place = end;
      return this.#stop(limit);
    }
    this.#place = place + 1;
    if (bytes[place] === QUOTE) {
      this.stringStart = place;
      this.#from = place + 1;
    }
    return place;
  }

  #stop(limit: number): number {
    return limit < this.#bytes.length ? PAUSED : ENDED;
  }

  /** False if it does not end before `limit`. */
  #skipString(limit: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(limit, bytes.length);
    for (let place = this.#from; ; place = this.#quote + 1) {
      const near = Math.min(end, place + SHORT_STRING_BYTES);
      for (; place < near; place++) {
        const byte = bytes[place];
        if (byte === QUOTE) return this.#endString(place);
        if (byte === BACKSLASH) place++;
      }
      if (place < end && this.#quote < place) {
        const quote = bytes.indexOf(QUOTE, place);
        this.#quote = quote < 0 ? bytes.length : quote;
      }
      if (place >= end || this.#quote >= end) {
        this.#from = place;
        return false;
      }
      if (!isEscaped(bytes, this.#quote, place)) return this.#endString(this.#quote);
    }
  }

  #endString(quote: number): true {
    this.stringStart = -1;
    this.stringEnd = quote;
    this.#place = quote + 1;
    return true;
  }
}

/** `from`: a place in the string that is not escaped; no byte before it is read. */
function isEscaped(bytes: Uint8Array, quote: number, from: number): boolean {
  let place = quote - 1;
  while (place >= from && bytes[place] === BACKSLASH) place--;
  return (quote - 1 - place) % 2 === 1;
}

/** The longest escape is `\u1234`. */
const MAX_ESCAPE_BYTES = 6;

/** The last place from `limit` on backwards where a string may be cut: within no character and no escape. `from`: where it was cut before. */
export function findCut(bytes: Uint8Array, from: number, limit: number): number {
  let cut = limit;
  while (cut > from && (bytes[cut]! & 0xc0) === 0x80) cut--;
  for (let place = cut - 1; place >= Math.max(from, cut - MAX_ESCAPE_BYTES); place--) {
    if (bytes[place] !== BACKSLASH) continue;
    return isEscaped(bytes, place, from) ? cut : place;
  }
  return cut;
}
