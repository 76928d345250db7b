/** The table of docs/tested-engines.md: a row per engine with the results of its last tests. Rows of engines that cannot run are kept. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPresetVersion } from './preset-version.ts';
import { READ_SOURCES, type ReadSource } from './read-sources.ts';
import type { TestedFile, TestedFiles } from './tested-files.ts';

export interface EngineRun {
  engine: string;
  version: string;
  /** Version of the preset's image. */
  imageVersion: string;
  /** All tests of the engine. */
  tests: readonly string[];
  files: TestedFiles;
}

const DOCUMENT = join(import.meta.dirname, '../../docs/tested-engines.md');

/** Also updates the rows of engines whose sources were only read. */
export function writeRun(run: EngineRun): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const replaced = READ_SOURCES.reduce(
    (text, source) => replaceSourceRow(text, source, readPresetVersion(source.engine)),
    replaceRow(document, run),
  );
  if (replaced !== document) writeFileSync(DOCUMENT, replaced);
}

/**
 * The row tells which files passed in this version, and names those that did not, or did not run. Nothing ran: it stays as it
 * is. Throws where the document has no row for the engine.
 */
export function replaceRow(document: string, run: EngineRun): string {
  const { engine, version, imageVersion, tests, files } = run;
  const row = findRow(document, engine);
  const shown = tests.flatMap((test) => {
    const file = files[test];
    return file?.version === version ? [{ test, ...file }] : [];
  });
  if (shown.length === 0) return document;
  const cells = [
    `\`${engine}\``,
    describeVersion(version, imageVersion),
    // The engine's own help is not a run.
    tests.length > 1 ? 'run, on a CPU' : 'its own help, and its source',
    [
      ...describeCounts(shown.filter(({ failed }) => !failed)),
      ...describeMissing(tests, shown),
      ...shown.flatMap(({ measures }) => measures),
    ]
      .map(capitalize)
      .join('. '),
    describeDates(shown.map(({ date }) => date)),
  ];
  return replace(document, row, cells);
}

/** The row states which version was read, for what, and whether it is that of the preset's image. Throws like `replaceRow`. */
export function replaceSourceRow(
  document: string,
  { engine, version, reason, read, date }: ReadSource,
  imageVersion: string,
): string {
  const how = `by its source: ${reason}`;
  const cells = [`\`${engine}\``, describeVersion(version, imageVersion), how, read, date];
  return replace(document, findRow(document, engine), cells);
}

function findRow(document: string, engine: string): RegExp {
  const row = new RegExp(`^\\| \`${engine}\` \\|.*$`, 'm');
  if (!row.test(document))
    throw new Error(`docs/tested-engines.md has no row for ${engine}: add one to its table`);
  return row;
}

const replace = (document: string, row: RegExp, cells: readonly string[]): string =>
  document.replace(row, () => `| ${cells.join(' | ')} |`);

/** The version that was run or read, with a note if the preset's image has another one. */
const describeVersion = (version: string, imageVersion: string): string =>
  version === imageVersion ? version : `${version}, not the image's ${imageVersion}`;

type ShownFile = TestedFile & { test: string };

/** Describes the counts of files that passed. */
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
  return missing.length > 0 ? [`**Not passed: ${missing.join(', ')}**`] : [];
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function describeDates(dates: readonly string[]): string {
  const [first, last] = [dates.toSorted()[0], dates.toSorted().at(-1)];
  return first === last ? first! : `${first} to ${last}`;
}
