/** The last results of each engine's tests, by file: a run of all may take longer than a machine is available. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TestedFile {
  /** Version of the engine. */
  version: string;
  passed: number;
  /** Absent: none. Includes a test that did not end. */
  failed?: number;
  minutes: number;
  measures: string[];
  /** The one that was checked out, with a `+` if sources differed from it. */
  commit: string;
  /** `2026-11-23`. */
  date: string;
}

/** By the name of the test; the last one ran last. */
export type TestedFiles = Record<string, TestedFile>;

const FOLDER = join(import.meta.dirname, 'tested');
/** What the stage itself writes. */
const WRITTEN = ['test/engines/tested', 'docs/tested-engines.md'];

export function readTestedFiles(engine: string): TestedFiles {
  const path = pathOf(engine);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

export function noteTestedFile(engine: string, test: string, file: TestedFile): void {
  mkdirSync(FOLDER, { recursive: true });
  const { [test]: _, ...others } = readTestedFiles(engine);
  writeFileSync(pathOf(engine), `${JSON.stringify({ ...others, [test]: file }, null, 2)}\n`);
}

/** The commit of the sources that are tested. */
export function readCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const others = WRITTEN.map((path) => `:(exclude)${path}`);
  const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', '.', ...others) !== '';
  return `${git('rev-parse', '--short=8', 'HEAD')}${isChanged ? '+' : ''}`;
}

const pathOf = (engine: string): string => join(FOLDER, `${engine}.json`);
