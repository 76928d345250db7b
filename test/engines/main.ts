/**
 * `main.ts MOCHA-ARGUMENTS… FILES…`: installs each engine of ENGINES (vllm), runs its tests, or those in the files, and writes what was
 * shown, and when, into the table of docs/tested-engines.md.
 */
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type EngineName, parseNames, REAL_ENGINES } from './catalog.ts';
import { readMeasures } from './measures.ts';
import { writeTable } from './run-table.ts';
import { noteTestedFile, readCommit } from './tested-files.ts';

const ARGUMENTS = process.argv.slice(2);
const SUFFIX = '.test.ts';
const isFile = (word: string): boolean => word.endsWith(SUFFIX);
/** Files, if a stage repeats only these. */
const GIVEN = ARGUMENTS.filter(isFile);
const filesOf = (tests: readonly string[]): string[] => tests.map((test) => `test/engines/${test}${SUFFIX}`);

let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true;
  });

/** Whether all passed. */
async function runEngine(name: EngineName): Promise<boolean> {
  const { install, tests, version } = REAL_ENGINES[name];
  install();
  console.log(`\n${name} ${version}`);
  let isGood = true;
  for (const path of GIVEN.length > 0 ? GIVEN : filesOf(tests)) {
    if (isInterrupted) return false;
    isGood = (await runFile(name, path)) && isGood;
  }
  writeTable();
  return isGood;
}

/** In a process of its own, so that its engine and the like are gone before the next file starts. */
async function runFile(name: EngineName, path: string): Promise<boolean> {
  const [start, commit] = [performance.now(), readCommit()];
  const { code, output } = await runMocha(name, path);
  if (isInterrupted) return false;
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}\\b`, 'm').exec(output)?.[1] ?? 0);
  const passed = count('passing');
  const isGood = code === 0 && passed > 0;
  noteTestedFile(name, basename(path, SUFFIX), {
    version: REAL_ENGINES[name].version,
    passed,
    ...(!isGood && { failed: Math.max(count('failing'), 1) }),
    minutes: Number(((performance.now() - start) / 60_000).toFixed(1)),
    measures: readMeasures(output),
    commit,
    date: new Date().toISOString().slice(0, 10),
  });
  return isGood;
}

function runMocha(name: EngineName, file: string): Promise<{ code: number; output: string }> {
  const args = ARGUMENTS.filter((word) => !isFile(word));
  return new Promise((resolve) => {
    const child = spawn('mocha', [...args, file], {
      env: { ...process.env, ENGINE: name },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
    });
    child.once('close', (code) => resolve({ code: code ?? 1, output: stripVTControlCharacters(output) }));
  });
}

try {
  for (const name of parseNames(process.env.ENGINES || 'vllm'))
    if (!isInterrupted && !(await runEngine(name))) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
