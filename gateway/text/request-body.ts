/**
 * Edits members of a JSON text in place. Parsing and reserializing it would round large integers such as `seed`
 * and rewrite megabytes of images.
 */
import { findStringEnd, skipSpace } from '../../kit/json.ts';

/** Sets top-level members of an object, each to a JSON text. `text` must be valid JSON. */
export function setMembers(text: string, values: ReadonlyMap<string, string>): string {
  let output = '';
  let copied = 0;
  for (const { start, end, value } of listEdits(text, values)) {
    output += text.slice(copied, start) + value;
    copied = end;
  }
  return output + text.slice(copied);
}

/** The same for a text and its bytes: if each character is one byte, megabytes of images are not encoded again. */
export function setMembersInBytes(
  { raw, text }: { raw: Buffer; text: string },
  values: ReadonlyMap<string, string>,
): Buffer {
  if (raw.length !== text.length) return Buffer.from(setMembers(text, values));
  const parts: Buffer[] = [];
  let copied = 0;
  for (const { start, end, value } of listEdits(text, values)) {
    parts.push(raw.subarray(copied, start), Buffer.from(value));
    copied = end;
  }
  return Buffer.concat([...parts, raw.subarray(copied)]);
}

interface Edit {
  /** Of what is replaced. */
  start: number;
  end: number;
  value: string;
}

/** In the order of the text. */
function listEdits(text: string, values: ReadonlyMap<string, string>): Edit[] {
  const missing = new Map(values);
  const edits: Edit[] = [];
  let isEmpty = true;
  for (const { name, start, end } of listMembers(text)) {
    isEmpty = false;
    const value = values.get(name);
    if (value === undefined) continue;
    missing.delete(name);
    edits.push({ start, end, value });
  }
  if (missing.size === 0) return edits;
  const added = [...missing].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',');
  const brace = text.indexOf('{') + 1;
  return [{ start: brace, end: brace, value: isEmpty ? added : `${added},` }, ...edits];
}

/** The text of a top-level member's value; the last one of duplicate names, as in JSON parsers. */
export function getMember(text: string, name: string): string | null {
  let value: string | null = null;
  for (const member of listMembers(text))
    if (member.name === name) value = text.slice(member.start, member.end);
  return value;
}

/** The raw values of top-level members in the JSON text `bytes`; the last one of duplicate names. */
export function sliceMembers(bytes: Buffer, names: ReadonlySet<string>): Map<string, Buffer> {
  const slices = new Map<string, Buffer>();
  // One character per byte: JSON's structure is ASCII, whose bytes occur in no other UTF-8 character.
  for (const { name, start, end } of listMembers(bytes.toString('latin1')))
    if (names.has(name)) slices.set(name, bytes.subarray(start, end));
  return slices;
}

/** Members by name and items by index, each mapped to a JSON text or to nested changes. */
export type Changes = ReadonlyMap<string | number, string | Changes>;

/** Replaces existing values at any depth. `text` must be valid JSON. */
export function replaceValues(text: string, changes: Changes): string {
  let output = '';
  let copied = 0;
  for (const { name, start, end } of listValues(text)) {
    const change = changes.get(name);
    if (change === undefined) continue;
    const value = typeof change === 'string' ? change : replaceValues(text.slice(start, end), change);
    output += text.slice(copied, start) + value;
    copied = end;
  }
  return output + text.slice(copied);
}

function listValues(text: string): Iterable<Member | Item> {
  const first = text[skipSpace(text, 0)];
  if (first === '{') return listMembers(text);
  return first === '[' ? listItems(text) : [];
}

interface Item {
  /** Its index. */
  name: number;
  start: number;
  end: number;
}

function* listItems(text: string): Generator<Item> {
  let start = skipSpace(text, text.indexOf('[') + 1);
  for (let name = 0; text[start] !== ']'; name++) {
    const end = skipValue(text, start);
    yield { name, start, end };
    start = skipSpace(text, end);
    if (text[start] === ',') start = skipSpace(text, start + 1);
  }
}

interface Member {
  name: string;
  /** Of the value. */
  start: number;
  end: number;
}

function* listMembers(text: string): Generator<Member> {
  let place = skipSpace(text, text.indexOf('{') + 1);
  while (text[place] === '"') {
    const nameEnd = findStringEnd(text, place);
    const name = JSON.parse(text.slice(place, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = skipValue(text, start);
    yield { name, start, end };
    place = skipSpace(text, end);
    if (text[place] === ',') place = skipSpace(text, place + 1);
  }
}

function skipValue(text: string, from: number): number {
  if (text[from] === '"') return findStringEnd(text, from);
  let depth = 0;
  let place = from;
  for (; place < text.length; place++) {
    const character = text[place];
    if (character === '"') place = findStringEnd(text, place) - 1;
    else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') {
      if (depth === 0) return place;
      depth--;
      if (depth === 0) return place + 1;
    } else if (depth === 0 && ', \t\n\r'.includes(character!)) return place;
  }
  return place;
}
