/** The table of docs/engines.md: a row for each engine, of what its tests showed last. Rows of engines that cannot run stay. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PassedFile, PassedFiles } from './passed-files.ts';

export interface EngineRun {
  engine: string;
  version: string;
  /** All that the engine has to pass. */
  tests: readonly string[];
  files: PassedFiles;
}

const DOCUMENT = join(import.meta.dirname, '../../docs/engines.md');

/** Leaves the row as it is while a test of this version has not passed. */
export function writeRun(run: EngineRun): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const replaced = replaceRow(document, run);
  if (replaced !== document) writeFileSync(DOCUMENT, replaced);
}

/** Throws where the document has no row for the engine. */
export function replaceRow(document: string, { engine, version, tests, files }: EngineRun): string {
  const row = new RegExp(`^\\| \`${engine}\` \\|.*$`, 'm');
  if (!row.test(document)) throw new Error(`docs/engines.md has no row for ${engine}: add one to its table`);
  const shown = tests.map((test) => files[test]);
  if (!shown.every((file): file is PassedFile => file?.version === version)) return document;
  const cells = [
    `\`${engine}\``,
    version,
    'run, on a CPU',
    [describeCounts(tests, files), ...shown.flatMap(({ measures }) => measures)].join('; '),
    describeDates(shown.map(({ date }) => date)),
  ];
  return document.replace(row, () => `| ${cells.join(' | ')} |`);
}

function describeCounts(tests: readonly string[], files: PassedFiles): string {
  const sum = (read: (file: PassedFile) => number) =>
    tests.reduce((total, test) => total + read(files[test]!), 0);
  const each = tests.map((test) => `${test} ${files[test]!.passed}`).join(', ');
  return `${sum(({ passed }) => passed)} tests in ${sum(({ minutes }) => minutes).toFixed(0)} min (${each})`;
}

function describeDates(dates: readonly string[]): string {
  const [first, last] = [dates.toSorted()[0], dates.toSorted().at(-1)];
  return first === last ? first! : `${first} to ${last}`;
}
