/**
 * The table of docs/tested-engines.md: a row per preset with the results of its last tests, or with what was read of its source.
 * `node test/engines/run-table.ts` writes it from the notes of earlier runs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE_NAMES, REAL_ENGINES } from './catalog.ts';
import { readPresetVersion } from './preset-version.ts';
import { READ_SOURCES, type ReadSource } from './read-sources.ts';
import { readTestedFiles, type TestedFile, type TestedFiles } from './tested-files.ts';

export interface EngineRun {
  engine: string;
  /** Version of the preset's image. */
  imageVersion: string;
  /** All tests of the engine. */
  tests: readonly string[];
  /** The last one has the version that the row is about. */
  files: TestedFiles;
}

export interface Row {
  engine: string;
  version: string;
  how: string;
  shown: string;
  commits: readonly string[];
  dates: readonly string[];
}

const DOCUMENT = join(import.meta.dirname, '../../docs/tested-engines.md');
const BEGIN = '<!-- Written by make test-engines. Do not edit. -->\n';
const END = '<!-- End of what make test-engines writes. -->\n';
const HEAD = `
| Preset | Version | How | Shown | Commit | Date |
|---|---|---|---|---|---|
`;
const FRESH_DAYS = 30;
const DAY_MS = 86_400_000;

export function writeTable(): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const replaced = replaceTable(document, formatTable(collectRows()));
  if (replaced !== document) writeFileSync(DOCUMENT, replaced);
}

/** By the notes of the stage and the list of sources. */
export const collectRows = (): Row[] => [
  ...ENGINE_NAMES.flatMap((engine) => {
    const { tests } = REAL_ENGINES[engine];
    const run = { engine, imageVersion: readPresetVersion(engine), tests, files: readTestedFiles(engine) };
    return describeRun(run) ?? [];
  }),
  ...READ_SOURCES.map((source) => describeSource(source, readPresetVersion(source.engine))),
];

/** Throws where the document has no place for the table. */
export function replaceTable(document: string, table: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`docs/tested-engines.md needs the lines ${BEGIN.trim()} and ${END.trim()}`);
  return `${document.slice(0, begin)}${BEGIN}${table}\n${document.slice(end)}`;
}

/** Ages are those on the day of the newest row. */
export function formatTable(rows: readonly Row[]): string {
  const today = rows
    .flatMap(({ dates }) => dates)
    .toSorted()
    .at(-1)!;
  const lines = rows.map(({ engine, version, how, shown, commits, dates }) =>
    [
      `\`${engine}\``,
      version,
      how,
      shown,
      [...new Set(commits)].map((commit) => `\`${commit}\``).join(', '),
      describeDates(dates, today),
    ].join(' | '),
  );
  return `${HEAD}${lines.map((line) => `| ${line} |\n`).join('')}`;
}

function describeDates(dates: readonly string[], today: string): string {
  const sorted = dates.toSorted();
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const age = (Date.parse(today) - Date.parse(first)) / DAY_MS;
  return `${first === last ? first : `${first} to ${last}`}${age > FRESH_DAYS ? `, **older than ${FRESH_DAYS} days**` : ''}`;
}

/** The row states which files passed in the version that ran last, and names those that did not, or did not run. Undefined if none ran. */
export function describeRun({ engine, imageVersion, tests, files }: EngineRun): Row | undefined {
  const version = Object.values(files).at(-1)?.version;
  if (version === undefined) return undefined;
  const shown = tests.flatMap((test) => {
    const file = files[test];
    return file?.version === version ? [{ test, ...file }] : [];
  });
  return {
    engine,
    version: describeVersion(version, imageVersion),
    // The engine's own help is not a run.
    how: tests.length > 1 ? 'run, on a CPU' : 'its own help, and its source',
    shown: [
      ...describeCounts(shown.filter(({ failed }) => !failed)),
      ...describeMissing(tests, shown),
      ...shown.flatMap(({ measures }) => measures),
    ]
      .map(capitalize)
      .join('. '),
    commits: shown.map(({ commit }) => commit),
    dates: shown.map(({ date }) => date),
  };
}

/** The row states which version was read, for what, and whether it is that of the preset's image. */
export const describeSource = (
  { engine, version, reason, read, commit, date }: ReadSource,
  imageVersion: string,
): Row => ({
  engine,
  version: describeVersion(version, imageVersion),
  how: `by its source: ${reason}`,
  shown: read,
  commits: [commit],
  dates: [date],
});

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

if (import.meta.main) writeTable();
