/** The last results of each engine's tests, by file: a run of all may take longer than a machine is available. */
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
  /** `2026-11-23`. */
  date: string;
}

/** By the name of the test. */
export type TestedFiles = Record<string, TestedFile>;

const FOLDER = join(import.meta.dirname, 'tested');

export function readTestedFiles(engine: string): TestedFiles {
  const path = pathOf(engine);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

export function noteTestedFile(engine: string, test: string, file: TestedFile): void {
  mkdirSync(FOLDER, { recursive: true });
  const files = { ...readTestedFiles(engine), [test]: file };
  writeFileSync(pathOf(engine), `${JSON.stringify(files, null, 2)}\n`);
}

const pathOf = (engine: string): string => join(FOLDER, `${engine}.json`);
