/**
 * Parses JSON whose members' names are written with escapes. V8 compares such a name, as it is written, with the one that came at
 * its place in an object before, and may take that one: after `{"a":1,"x\\u":1}` it reads `{"a":1,"x\u0079z":1}` wrongly. What a
 * caller hides so from a check, an engine would still find.
 */

import { findStringEnd, skipSpace } from './json-text.ts';

/** The last escape of a name. */
const ESCAPED_NAME = /\\.[^"\\]*"\s*:/s;

/** As JSON.parse, of texts that others wrote. */
export const parseForeignJson = (text: string): unknown =>
  JSON.parse(text.includes('\\') && ESCAPED_NAME.test(text) ? unescapeNames(text) : text);

/** Names that need no escapes lose them; the others are none that anything here reads. Of what is no JSON, it makes none. */
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
