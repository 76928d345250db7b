/** Finds its way in the text of JSON, without parsing it. */

/** The place behind a string's closing quote, from its opening one; -1 where there is none. */
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
