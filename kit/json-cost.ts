/** Estimates the memory of a parsed JSON text in one pass over its bytes, before anything is allocated. */

/** Deeper than any prompt or JSON schema; engines refuse some 200. */
export const MAX_JSON_DEPTH = 128;

/**
 * Bytes of heap per structural character, measured with V8 and rounded up; those that create objects count more, since
 * they also cost garbage collection time. Characters within strings count by length.
 */
const WEIGHTS: Readonly<Record<string, number>> = { '{': 256, '[': 256, ':': 192, ',': 12, '"': 48 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 1;
const CLOSING = 2;
const OTHER = 3;
/** By byte: 0 for irrelevant ones. */
const KINDS = new Uint8Array(256);
const COSTS = new Uint16Array(256);
for (const character of '{[:,"}]') {
  const byte = character.charCodeAt(0);
  KINDS[byte] = '{['.includes(character) ? OPENING : '}]'.includes(character) ? CLOSING : OTHER;
  COSTS[byte] = WEIGHTS[character] ?? 0;
}

export type JsonFault = 'cost' | 'depth';

/**
 * Null for a text whose values fit into `maxCost` bytes of heap, not counting the characters of strings. Stops at the first
 * byte over the limit. Only the parser decides whether the text is valid JSON.
 */
export function findJsonFault(bytes: Uint8Array, maxCost: number): JsonFault | null {
  let cost = 0;
  let depth = 0;
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place]!;
    const kind = KINDS[byte];
    if (kind === 0) continue;
    cost += COSTS[byte]!;
    if (cost > maxCost) return 'cost';
    if (kind === OPENING) {
      if (++depth > MAX_JSON_DEPTH) return 'depth';
    } else if (kind === CLOSING) depth--;
    else if (byte === QUOTE) place = skipString(bytes, place);
  }
  return null;
}

/** Beyond this length a native search is faster than a loop. */
const SHORT_STRING_BYTES = 64;

/** Offset of the closing quote; the end of the text if there is none. */
function skipString(bytes: Uint8Array, from: number): number {
  const near = Math.min(bytes.length, from + SHORT_STRING_BYTES);
  let place = from + 1;
  for (; place < near; place++) {
    const byte = bytes[place];
    if (byte === QUOTE) return place;
    if (byte === BACKSLASH) place++;
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, place);
    if (quote < 0) return bytes.length;
    if (!isEscaped(bytes, quote, place)) return quote;
    place = quote + 1;
  }
}

/** Looks back no further than `from`, so no byte is read twice. */
function isEscaped(bytes: Uint8Array, quote: number, from: number): boolean {
  let place = quote - 1;
  while (place >= from && bytes[place] === BACKSLASH) place--;
  return (quote - 1 - place) % 2 === 1;
}
