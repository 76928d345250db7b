/** What of each engine's tests passed when they last ran, file by file: a run of all may take longer than a busy machine is free. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PassedFile {
  /** Of the engine. */
  version: string;
  passed: number;
  minutes: number;
  measures: string[];
  /** `2026-11-23`. */
  date: string;
}

/** By the name of the test. */
export type PassedFiles = Record<string, PassedFile>;

const FOLDER = join(import.meta.dirname, 'passed');

export function readPassedFiles(engine: string): PassedFiles {
  const path = pathOf(engine);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/** Null: it failed, so that what it showed earlier does not hold. Returns all that is known then. */
export function notePassedFile(engine: string, test: string, file: PassedFile | null): PassedFiles {
  const { [test]: _, ...others } = readPassedFiles(engine);
  const files = file ? { ...others, [test]: file } : others;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(pathOf(engine), `${JSON.stringify(files, null, 2)}\n`);
  return files;
}

const pathOf = (engine: string): string => join(FOLDER, `${engine}.json`);
