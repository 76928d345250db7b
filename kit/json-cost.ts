/** Estimates the memory of a parsed JSON text from its bytes, before anything is allocated. */
import { JsonStructure, PAUSED } from './json-structure.ts';

/** Deeper than any prompt or JSON schema; engines refuse some 200. */
export const MAX_JSON_DEPTH = 128;

/**
 * Bytes of heap per structural character, measured with V8 and rounded up; those that create objects count more, since
 * they also cost garbage collection time. Characters within strings count by length.
 */
const WEIGHTS: Readonly<Record<string, number>> = { '{': 256, '[': 256, ':': 192, ',': 12, '"': 48 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;

const OPENING = 1;
const CLOSING = 2;
const KINDS = new Uint8Array(256);
const COSTS = new Uint16Array(256);
for (const character of '{[') KINDS[character.charCodeAt(0)] = OPENING;
for (const character of '}]') KINDS[character.charCodeAt(0)] = CLOSING;
for (const [character, weight] of Object.entries(WEIGHTS)) COSTS[character.charCodeAt(0)] = weight;

/** Whether a character of the outermost level comes next among the edges of an object: its brace, then a colon and a comma or brace in turn. */
const isEdge = (byte: number, edges: number): boolean =>
  edges === 0
    ? byte === OPEN_BRACE
    : edges % 2 === 1
      ? byte === COLON
      : byte === COMMA || byte === CLOSE_BRACE;

export type JsonFault = 'cost' | 'depth';

export interface JsonWeight {
  fault: JsonFault | null;
  /** Bytes of heap, not counting the characters of strings. */
  cost: number;
  /** Offsets of the characters that delimit the members of the outermost object: its braces, colons and commas. */
  edges: number[];
}

/** Bytes between two pauses: about a millisecond. */
const SLICE_BYTES = 64 * 1024;

/**
 * Weighs a text, with pauses in between. Stops at the first byte over a limit. Only the parser decides whether the text is
 * valid JSON; of other texts, the edges mean nothing.
 */
export function* weighJson(
  bytes: Uint8Array,
  maxCost: number,
  maxDepth = MAX_JSON_DEPTH,
): Generator<undefined, JsonWeight> {
  const structure = new JsonStructure(bytes);
  const edges: number[] = [];
  let cost = 0;
  let depth = 0;
  for (let limit = SLICE_BYTES; ; ) {
    const place = structure.next(limit);
    if (place < 0) {
      if (place !== PAUSED) return { fault: null, cost, edges };
      limit += SLICE_BYTES;
      yield;
      continue;
    }
    const byte = bytes[place]!;
    cost += COSTS[byte]!;
    if (cost > maxCost) return { fault: 'cost', cost, edges };
    const kind = KINDS[byte];
    if (kind === OPENING && ++depth > maxDepth) return { fault: 'depth', cost, edges };
    if (depth === 1 && isEdge(byte, edges.length)) edges.push(place);
    if (kind === CLOSING) depth--;
  }
}

/** Null for a text whose values fit into `maxCost` bytes of heap, not counting the characters of strings. */
export const findJsonFault = (bytes: Uint8Array, maxCost: number): JsonFault | null =>
  finish(weighJson(bytes, maxCost)).fault;

/** Whether it could be parsed, but not written again: that needs a stack. */
export function isTooDeep(bytes: Uint8Array): boolean {
  const { length } = bytes;
  let depth = 0;
  for (let place = 0; place < length; place++) {
    // The two kinds of brackets differ in this bit.
    const byte = bytes[place]! | 0x20;
    if (byte === OPEN_BRACE) {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (byte === CLOSE_BRACE) depth--;
    else if (byte === QUOTE)
      while (++place < length && bytes[place] !== QUOTE) if (bytes[place] === BACKSLASH) place++;
  }
  return false;
}

/** Whether it has as many brackets as a text that is too deep. A native search: most small texts have few. */
export function hasManyBrackets(text: string): boolean {
  let left = MAX_JSON_DEPTH;
  for (const bracket of '[{')
    for (let place = text.indexOf(bracket); place >= 0; place = text.indexOf(bracket, place + 1))
      if (--left < 0) return true;
  return false;
}

/** As in `JsonWeight`. */
export const findJsonEdges = (bytes: Uint8Array): number[] =>
  finish(weighJson(bytes, Infinity, Infinity)).edges;

function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
