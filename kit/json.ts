/** Untrusted JSON: type checks, scanning without parsing, and safe parsing. */

export type JSONObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Offset after a string's closing quote, from its opening one; -1 if there is none. */
export function findStringEnd(text: string, start: number): number {
  // From quote to quote: a string may be an image of megabytes.
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote;
    while (text[before - 1] === '\\') before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
  return -1;
}

export function skipSpace(text: string, from: number): number {
  let place = from;
  while (' \t\n\r'.includes(text[place] ?? 'x')) place++;
  return place;
}

/** The last escape of a name. */
const ESCAPED_NAME = /\\.[^"\\]*"\s*:/s;

/**
 * As JSON.parse, for texts whose member names may contain escapes. V8 compares such a name, as it is written, with the one
 * that came at its place in an object before, and may take that one: after `{"a":1,"x\\u":1}` it reads `{"a":1,"x\\u0079z":1}` wrongly.
 * A caller could thus hide a member from a check, which an engine would still find.
 */
export const parseForeignJson = (text: string): unknown =>
  JSON.parse(text.includes('\\') && ESCAPED_NAME.test(text) ? unescapeNames(text) : text);

/** Unescapes names that need no escapes; nothing here reads the others. Invalid JSON stays invalid. */
function unescapeNames(text: string): string {
  let output = '';
  let copied = 0;
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = findStringEnd(text, start);
    if (end < 0) break;
    const isName = text[skipSpace(text, end)] === ':';
    const name = isName ? decodePlain(text.slice(start, end)) : null;
    if (name !== null) {
      output += `${text.slice(copied, start)}"${name}"`;
      copied = end;
    }
    start = text.indexOf('"', end);
  }
  return output + text.slice(copied);
}

/** null for one that has no escapes, or needs them. */
function decodePlain(quoted: string): string | null {
  if (!quoted.includes('\\')) return null;
  try {
    const name = JSON.parse(quoted) as string;
    return /["\\\u0000-\u001f]/.test(name) ? null : name;
  } catch {
    return null;
  }
}
