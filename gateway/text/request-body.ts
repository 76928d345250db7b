/**
 * Changes members of a JSON text in place. Parsing and serializing it again would round large integers such as `seed`
 * and rewrite megabytes of images.
 */

/** Sets top-level members of an object, each to a JSON text. `text` must be valid JSON. */
export function setMembers(text: string, values: ReadonlyMap<string, string>): string {
  const missing = new Map(values);
  let output = '';
  let copied = 0;
  for (const { name, start, end } of listMembers(text)) {
    const value = values.get(name);
    if (value === undefined) continue;
    missing.delete(name);
    output += text.slice(copied, start) + value;
    copied = end;
  }
  output += text.slice(copied);
  if (missing.size === 0) return output;
  const added = [...missing].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',');
  const brace = output.indexOf('{') + 1;
  const isEmpty = /^\s*\}/.test(output.slice(brace, brace + 64));
  return `${output.slice(0, brace)}${added}${isEmpty ? '' : ','}${output.slice(brace)}`;
}

/** The text of a top-level member's value; the last one where a name comes twice, as parsers have it. */
export function getMember(text: string, name: string): string | null {
  let value: string | null = null;
  for (const member of listMembers(text))
    if (member.name === name) value = text.slice(member.start, member.end);
  return value;
}

/** Of members by name and of items by index, each to a JSON text or to changes within. */
export type Changes = ReadonlyMap<string | number, string | Changes>;

/** Replaces values that are there, however deep they lie. `text` must be valid JSON. */
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
    const nameEnd = skipString(text, place);
    const name = JSON.parse(text.slice(place, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = skipValue(text, start);
    yield { name, start, end };
    place = skipSpace(text, end);
    if (text[place] === ',') place = skipSpace(text, place + 1);
  }
}

function skipSpace(text: string, from: number): number {
  let place = from;
  while (' \t\n\r'.includes(text[place] ?? 'x')) place++;
  return place;
}

/** Jumps from quote to quote: a string may be an image of megabytes. */
function skipString(text: string, from: number): number {
  for (let place = text.indexOf('"', from + 1); ; place = text.indexOf('"', place + 1)) {
    let escapes = 0;
    while (text[place - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return place + 1;
  }
}

function skipValue(text: string, from: number): number {
  if (text[from] === '"') return skipString(text, from);
  let depth = 0;
  let place = from;
  for (; place < text.length; place++) {
    const character = text[place];
    if (character === '"') place = skipString(text, place) - 1;
    else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') {
      if (depth === 0) return place;
      depth--;
      if (depth === 0) return place + 1;
    } else if (depth === 0 && ', \t\n\r'.includes(character!)) return place;
  }
  return place;
}
