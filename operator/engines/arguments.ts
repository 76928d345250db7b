/** An engine's command line: the preset's arguments with the spec's. */

interface Argument {
  /** Normalized name of a flag; absent if it is not one. */
  name?: string;
  words: string[];
}

/** The preset's arguments, except those that the spec sets too, then the spec's. */
export function joinArguments(preset: readonly string[], given: readonly string[]): string[] {
  const named = new Set(given.map(nameOf));
  const own = group(preset).filter(({ name }) => name === undefined || !named.has(name));
  return [...own.flatMap(({ words }) => words), ...given];
}

/** The value of a flag; the last one counts. */
export function readArgument(words: readonly string[], flag: string): string | undefined {
  const found = group(words).findLast(({ name }) => name === flag)?.words;
  if (!found) return undefined;
  const [word = '', value] = found;
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : value;
}

/** A word after a flag without `=` is its value, unless it is a flag, too. */
function group(words: readonly string[]): Argument[] {
  const found: Argument[] = [];
  for (const word of words) {
    const name = nameOf(word);
    const last = found.at(-1);
    if (name !== undefined) found.push({ name, words: [word] });
    else if (last?.name !== undefined && last.words.length === 1 && !last.words[0]!.includes('='))
      last.words.push(word);
    else found.push({ words: [word] });
  }
  return found;
}

/** Engines read `--a_b` as `--a-b`, and `--no-a` turns `--a` off. */
const nameOf = (word: string): string | undefined =>
  word.startsWith('--')
    ? word.slice(2).split('=', 1)[0]!.replaceAll('_', '-').replace(/^no-/, '')
    : undefined;
