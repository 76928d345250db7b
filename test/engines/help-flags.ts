/**
 * The flags that each engine's own help lists, as `flags.test.ts` writes them down whenever it runs: by these every run of the unit
 * tests holds the presets to the engines, without one.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface HelpFlags {
  /** Version of the engine, such as `0.28.0`. */
  version: string;
  /** Sorted. */
  flags: string[];
  /** Allowed values of flags with a list of these. */
  values: Record<string, string[]>;
}

const FOLDER = join(import.meta.dirname, 'helps');
/** The description of a flag in a help text: at the left edge, with its other names after commas. */
const DESCRIPTION = /^ {0,4}-{1,2}[a-z].*$/gim;
const NAME = /(?:^ {0,4}|,\s+)(-{1,2}[a-z][\w-]*)/gi;
const VALUES = /\{([^{}\s]+)\}/;

/** Reads a help text without control characters. */
export function readHelpFlags(help: string): Omit<HelpFlags, 'version'> {
  const found = [...help.matchAll(DESCRIPTION)].flatMap(([line]) => {
    const values = VALUES.exec(line)?.[1]?.split(',') ?? [];
    return [...line.matchAll(NAME)].map(([, flag]) => [flag!, values] as const);
  });
  const sorted = [...new Map(found)].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    flags: sorted.map(([flag]) => flag),
    values: Object.fromEntries(sorted.filter(([, values]) => values.length > 0)),
  };
}

/** Undefined if the engine never ran. */
export function loadHelpFlags(engine: string): HelpFlags | undefined {
  const path = pathOf(engine);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

export function saveHelpFlags(engine: string, flags: HelpFlags): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(pathOf(engine), `${JSON.stringify(flags, null, 1)}\n`);
}

const pathOf = (engine: string): string => join(FOLDER, `${engine}.json`);

/** Errors in words of a command line (`--flag=value`): unknown flags and values that they do not accept. */
export function findUnknownWords(
  words: readonly string[],
  { flags, values }: Pick<HelpFlags, 'flags' | 'values'>,
): string[] {
  const known = new Set(flags);
  return words.filter((word) => {
    const { flag, value } = splitWord(word);
    return !known.has(flag) || (value !== '' && values[flag]?.includes(value) === false);
  });
}

function splitWord(word: string): { flag: string; value: string } {
  const flag = word.split('=', 1)[0]!;
  return { flag, value: word.slice(flag.length + 1) };
}
