/** Members of a JSON object, found in its text without parsing their values. */
import { findStringEnd, skipSpace } from './json.ts';

export interface Member {
  name: string;
  /** Start of the value. */
  start: number;
  end: number;
}

/** `text` must be valid JSON: an object. */
export function* listMembers(text: string): Generator<Member> {
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

/** Offset after a value, from its start. */
export function skipValue(text: string, from: number): number {
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

/** The members of the outermost object in `bytes`, valid JSON, by the edges that `weighJson` found. */
export function* readEdges(bytes: Buffer, edges: readonly number[]): Generator<Member> {
  for (let index = 0; index + 2 < edges.length; index += 2) {
    const [before, colon, after] = [edges[index]!, edges[index + 1]!, edges[index + 2]!];
    const name = JSON.parse(bytes.toString('utf8', before + 1, colon)) as string;
    let start = colon + 1;
    let end = after;
    while (isSpace(bytes[start]!)) start++;
    while (isSpace(bytes[end - 1]!)) end--;
    yield { name, start, end };
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
