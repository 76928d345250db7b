/** The table of docs/engines.md: a row for each engine, of what its tests showed last. Rows of engines that cannot run stay. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestedFile, TestedFiles } from './tested-files.ts';

export interface EngineRun {
  engine: string;
  version: string;
  /** All that the engine has to pass. */
  tests: readonly string[];
  files: TestedFiles;
}

const DOCUMENT = join(import.meta.dirname, '../../docs/engines.md');

export function writeRun(run: EngineRun): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const replaced = replaceRow(document, run);
  if (replaced !== document) writeFileSync(DOCUMENT, replaced);
}

/**
 * The row tells which files passed in this version, and names those that did not, or did not run. Nothing ran: it stays as it
 * is. Throws where the document has no row for the engine.
 */
export function replaceRow(document: string, { engine, version, tests, files }: EngineRun): string {
  const row = new RegExp(`^\\| \`${engine}\` \\|.*$`, 'm');
  if (!row.test(document)) throw new Error(`docs/engines.md has no row for ${engine}: add one to its table`);
  const shown = tests.flatMap((test) => {
    const file = files[test];
    return file?.version === version ? [{ test, ...file }] : [];
  });
  if (shown.length === 0) return document;
  const cells = [
    `\`${engine}\``,
    version,
    // What an engine says of itself is no run of it.
    tests.length > 1 ? 'run, on a CPU' : 'its own help, and its source',
    [
      ...describeCounts(shown.filter(({ failed }) => !failed)),
      ...describeMissing(tests, shown),
      ...shown.flatMap(({ measures }) => measures),
    ].join('; '),
    describeDates(shown.map(({ date }) => date)),
  ];
  return document.replace(row, () => `| ${cells.join(' | ')} |`);
}

type ShownFile = TestedFile & { test: string };

/** Of files that passed. */
function describeCounts(shown: readonly ShownFile[]): string[] {
  if (shown.length === 0) return [];
  const sum = (read: (file: ShownFile) => number) => shown.reduce((total, file) => total + read(file), 0);
  const each = shown.map(({ test, passed }) => `${test} ${passed}`).join(', ');
  return [
    `${sum(({ passed }) => passed)} tests in ${sum(({ minutes }) => minutes).toFixed(0)} min (${each})`,
  ];
}

/** Files that failed, or did not run in this version. */
function describeMissing(tests: readonly string[], shown: readonly ShownFile[]): string[] {
  const missing = tests.flatMap((test) => {
    const file = shown.find((each) => each.test === test);
    if (!file) return [test];
    return file.failed ? [`${test} (${file.failed} of ${file.passed + file.failed} failed)`] : [];
  });
  return missing.length > 0 ? [`**not passed: ${missing.join(', ')}**`] : [];
}

function describeDates(dates: readonly string[]): string {
  const [first, last] = [dates.toSorted()[0], dates.toSorted().at(-1)];
  return first === last ? first! : `${first} to ${last}`;
}
