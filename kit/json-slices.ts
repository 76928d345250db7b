/** Parses large JSON texts in slices of about a millisecond, so that the event loop can serve others in between. */
import { isAscii } from 'node:buffer';
import { type JSONObject, parseForeignJson } from './json.ts';
import { MAX_JSON_DEPTH } from './json-cost.ts';
import { ENDED, findCut, JsonStructure, PAUSED } from './json-structure.ts';

export interface SliceSizes {
  /** Structural characters: parsing so many takes about a millisecond, three where each belongs to a new name. */
  characters: number;
  /** Between two pauses, and of one part of a long string. */
  bytes: number;
}

const SIZES: SliceSizes = { characters: 8 * 1024, bytes: 512 * 1024 };

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;

/**
 * The value that `JSON.parse` would return for `bytes`, which are UTF-8 and nested no deeper than MAX_JSON_DEPTH. Throws
 * SyntaxError. V8 parses the slices; this only cuts the text at commas, and in long strings.
 */
export const parseInSlices = (bytes: Buffer, sizes = SIZES): Generator<undefined, unknown> =>
  new SlicedText(bytes).parse(sizes);

/** An array or object that is not closed yet. */
interface Level {
  isArray: boolean;
  opened: number;
  /** Offset of its last comma, or of its opening. */
  edge: number;
  /**
   * An object, or the parts of an array, which are joined once: a growing array is copied many times. null as long as all of
   * its text is in the slice of a level above.
   */
  value: unknown[][] | JSONObject | null;
  /** Start of what is not parsed yet. */
  from: number;
  /** Offset after its latest member, if that was parsed by itself: up to the next comma nothing else may follow. -1 otherwise. */
  memberEnd: number;
}

class SlicedText {
  readonly #bytes: Buffer;
  readonly #structure: JsonStructure;
  /** By depth; reused. */
  readonly #levels: Level[] = Array.from({ length: MAX_JSON_DEPTH + 1 }, () => ({
    isArray: false,
    opened: 0,
    edge: 0,
    value: null,
    from: 0,
    memberEnd: -1,
  }));
  #depth = 0;
  /** As many of the outermost levels have a value. */
  #built = 0;
  #root: unknown;
  /** Offset after the outermost value, if it was parsed in slices. */
  #rootEnd = -1;
  /** Parsed parts of the long string at hand; null: there is none. */
  #string: string | null = null;
  #stringOpened = 0;
  /** Start of the string that is not parsed yet. */
  #stringFrom = 0;
  #quoted = Buffer.alloc(0);

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#structure = new JsonStructure(bytes);
  }

  *parse(sizes: SliceSizes): Generator<undefined, unknown> {
    const structure = this.#structure;
    let characters = 0;
    for (let limit = sizes.bytes; ; ) {
      const place = structure.next(limit);
      if (this.#string !== null && structure.stringStart !== this.#stringOpened)
        this.#endString(this.#string);
      if (place === ENDED) return this.#end();
      if (place === PAUSED) {
        if (structure.stringStart >= 0) this.#cutString(limit);
        limit += sizes.bytes;
        yield;
        continue;
      }
      characters++;
      if (this.#isSliceEnd(place) && characters >= sizes.characters) {
        this.#build();
        characters = 0;
        yield;
      }
    }
  }

  /** Takes note of a structural character; true for a comma. */
  #isSliceEnd(place: number): boolean {
    const byte = this.#bytes[place]!;
    if (byte === COMMA) this.#separate(place);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#open(place, byte === OPEN_BRACKET);
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close(place, byte === CLOSE_BRACKET);
    return byte === COMMA;
  }

  #open(place: number, isArray: boolean): void {
    if (this.#depth === MAX_JSON_DEPTH) throw new SyntaxError('It is nested too deeply');
    const level = this.#levels[++this.#depth]!;
    level.isArray = isArray;
    level.opened = place;
    level.edge = place;
    level.value = null;
  }

  #separate(place: number): void {
    if (this.#depth === 0) throw this.#unexpected(place);
    const level = this.#levels[this.#depth]!;
    level.edge = place;
    if (level.value === null || level.memberEnd < 0) return;
    this.#checkBlank(level.memberEnd, place);
    level.memberEnd = -1;
    level.from = place + 1;
  }

  #close(place: number, isArray: boolean): void {
    if (this.#depth === 0) throw this.#unexpected(place);
    const level = this.#levels[this.#depth]!;
    if (level.value !== null) {
      if (level.isArray !== isArray) throw this.#unexpected(place);
      if (level.memberEnd >= 0) this.#checkBlank(level.memberEnd, place);
      // Nothing may be between the brackets, but not between a comma and a bracket.
      else if (level.from > level.opened + 1 || !this.#isBlank(level.from, place))
        this.#addItems(level, place);
      this.#built--;
      const value = isArray ? joinParts(level.value as unknown[][]) : level.value;
      if (this.#depth > 1) this.#attach(this.#levels[this.#depth - 1]!, value, level.opened, place + 1);
      else {
        this.#root = value;
        this.#rootEnd = place + 1;
      }
      level.value = null;
    }
    this.#depth--;
  }

  /** Gives values to all open levels, with their members up to the last comma of each. */
  #build(): void {
    for (let depth = 1; depth <= this.#depth; depth++) {
      const level = this.#levels[depth]!;
      if (level.value === null) {
        level.value = level.isArray ? [] : {};
        level.from = level.opened + 1;
        level.memberEnd = -1;
        if (depth === 1) this.#checkRoot(level);
        this.#built = depth;
      }
      if (level.edge < level.from) continue;
      this.#addItems(level, level.edge);
      level.from = level.edge + 1;
    }
  }

  #checkRoot(level: Level): void {
    if (this.#rootEnd >= 0) throw this.#unexpected(level.opened);
    this.#checkBlank(0, level.opened);
  }

  /** Parses the members from where the level was parsed to `end`: one at least. */
  #addItems(level: Level, end: number): void {
    const text = this.#decode(level.from, end);
    if (level.isArray) {
      const items = parseForeignJson(`[${text}]`) as unknown[];
      if (items.length === 0) throw this.#unexpected(end);
      (level.value as unknown[][]).push(items);
      return;
    }
    const members = parseForeignJson(`{${text}}`) as JSONObject;
    const names = Object.keys(members);
    if (names.length === 0) throw this.#unexpected(end);
    for (const name of names) setMember(level.value as JSONObject, name, members[name]);
  }

  /** Adds a value that was parsed by itself. */
  #attach(level: Level, value: unknown, start: number, end: number): void {
    if (level.memberEnd >= 0) throw this.#unexpected(start);
    level.memberEnd = end;
    if (level.isArray) {
      this.#checkBlank(level.from, start);
      (level.value as unknown[][]).push([value]);
      return;
    }
    const [name] = Object.keys(parseForeignJson(`{${this.#decode(level.from, start)}[]}`) as JSONObject);
    if (name === undefined) throw this.#unexpected(start);
    setMember(level.value as JSONObject, name, value);
  }

  /** The string goes on after `limit`: parses what has come of it. */
  #cutString(limit: number): void {
    const start = this.#structure.stringStart;
    if (this.#string === null) {
      const level = this.#levels[this.#depth]!;
      // One that is no member's value is parsed as a whole, with what follows.
      if (this.#depth === 0 || (!level.isArray && this.#isBlank(level.edge + 1, start))) return;
      this.#build();
      this.#string = '';
      this.#stringOpened = start;
      this.#stringFrom = start + 1;
    }
    const cut = findCut(this.#bytes, this.#stringFrom, limit);
    this.#string += this.#parsePart(cut);
    this.#stringFrom = cut;
  }

  #endString(start: string): void {
    const level = this.#levels[this.#depth]!;
    const end = this.#structure.stringEnd;
    this.#attach(level, start + this.#parsePart(end), this.#stringOpened, end + 1);
    this.#string = null;
  }

  #parsePart(end: number): string {
    const length = end - this.#stringFrom;
    // A buffer that is used again spares the copy of megabytes that quotes around a string are.
    if (this.#quoted.length < length + 2) this.#quoted = Buffer.allocUnsafe(length + 2);
    this.#quoted[0] = QUOTE;
    this.#bytes.copy(this.#quoted, 1, this.#stringFrom, end);
    this.#quoted[length + 1] = QUOTE;
    return JSON.parse(decode(this.#quoted.subarray(0, length + 2)));
  }

  #end(): unknown {
    const { length } = this.#bytes;
    if (this.#rootEnd < 0 && this.#built === 0) return parseForeignJson(this.#decode(0, length));
    if (this.#depth > 0 || this.#structure.stringStart >= 0)
      throw new SyntaxError('Unexpected end of JSON input');
    this.#checkBlank(this.#rootEnd, length);
    return this.#root;
  }

  #decode(start: number, end: number): string {
    return decode(this.#bytes.subarray(start, end));
  }

  #isBlank(start: number, end: number): boolean {
    for (let place = start; place < end; place++) if (!isSpace(this.#bytes[place]!)) return false;
    return true;
  }

  #checkBlank(start: number, end: number): void {
    for (let place = start; place < end; place++)
      if (!isSpace(this.#bytes[place]!)) throw this.#unexpected(place);
  }

  #unexpected(place: number): SyntaxError {
    return new SyntaxError(`Unexpected ${JSON.stringify(this.#decode(place, place + 1))} at byte ${place}`);
  }
}

const decode = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');

const joinParts = (parts: unknown[][]): unknown[] =>
  parts.length === 1 ? parts[0]! : ([] as unknown[]).concat(...parts);

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** As JSON.parse, which makes `__proto__` a member like any other. */
function setMember(target: JSONObject, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  else target[name] = value;
}

/** The text that `JSON.stringify` would write of a value that was parsed, with pauses between the items of the outermost lists. */
export function* writeInSlices(value: JSONObject): Generator<undefined, string> {
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    members.push(`${JSON.stringify(name)}:${yield* writeItems(member)}`);
    yield;
  }
  return `{${members.join(',')}}`;
}

function* writeItems(member: unknown): Generator<undefined, string> {
  if (!Array.isArray(member)) return JSON.stringify(member);
  const items: string[] = [];
  for (const item of member) {
    items.push(JSON.stringify(item) ?? 'null');
    yield;
  }
  return `[${items.join(',')}]`;
}
