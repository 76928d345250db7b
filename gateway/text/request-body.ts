/**
 * Edits members of a JSON text in place. Parsing and reserializing it would round large integers such as `seed`
 * and rewrite megabytes of images.
 */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { skipSpace } from '../../kit/json.ts';
import { findJsonEdges } from '../../kit/json-cost.ts';
import { listMembers, type Member, readEdges, skipValue } from '../../kit/json-members.ts';

/** A JSON object's bytes and its members. */
export interface ObjectText {
  raw: Buffer;
  members(): Iterable<Member>;
}

/** Sets top-level members of an object, each to a JSON text. `text` must be valid JSON. */
export function setMembers(text: string, values: ReadonlyMap<string, string>): string {
  let output = '';
  let copied = 0;
  for (const { start, end, value } of listEdits(listMembers(text), text.indexOf('{') + 1, values)) {
    output += text.slice(copied, start) + value;
    copied = end;
  }
  return output + text.slice(copied);
}

/** The same for its bytes, of which megabytes of images are copied as they are. */
export function setMembersInBytes({ raw, members }: ObjectText, values: ReadonlyMap<string, string>): Buffer {
  const edits = listEdits(members(), raw.indexOf('{') + 1, values);
  const added = edits.reduce((bytes, { value }) => bytes + Buffer.byteLength(value), 0);
  const output = new GrowingBuffer(raw.length + added);
  let copied = 0;
  for (const { start, end, value } of edits) {
    output.add(raw.subarray(copied, start));
    output.addText(value, 'utf8');
    copied = end;
  }
  output.add(raw.subarray(copied));
  return output.read();
}

interface Edit {
  /** Start of what is replaced. */
  start: number;
  end: number;
  value: string;
}

/** In the order of the text. `first`: where the first member comes. */
function listEdits(members: Iterable<Member>, first: number, values: ReadonlyMap<string, string>): Edit[] {
  const missing = new Map(values);
  const edits: Edit[] = [];
  let isEmpty = true;
  for (const { name, start, end } of members) {
    isEmpty = false;
    const value = values.get(name);
    if (value === undefined) continue;
    missing.delete(name);
    edits.push({ start, end, value });
  }
  if (missing.size === 0) return edits;
  const added = [...missing].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',');
  return [{ start: first, end: first, value: isEmpty ? added : `${added},` }, ...edits];
}

/** The bytes of a top-level member's value; the last one of duplicate names, as in JSON parsers. */
export function getMemberOf({ raw, members }: ObjectText, name: string): string | null {
  let found: Member | null = null;
  for (const member of members()) if (member.name === name) found = member;
  return found && raw.toString('utf8', found.start, found.end);
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
  for (const { name, start, end } of readEdges(bytes, findJsonEdges(bytes)))
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

/** An array without some of its items. `text` must be valid JSON. */
export function dropItems(text: string, isDropped: (index: number) => boolean): string {
  const kept: string[] = [];
  for (const { name, start, end } of listItems(text)) if (!isDropped(name)) kept.push(text.slice(start, end));
  return `[${kept.join(',')}]`;
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
