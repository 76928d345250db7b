/** Runs a stage's commands and reads from their output what passed and what failed. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { divideEvenly } from './file-seconds.ts';

export interface Stage {
  command: string[];
  /** Mocha's counts are read from its output; other stages count as one. */
  isMocha: boolean;
  /** Its tests use real processes: a few failed files are rerun. */
  isRepeated?: boolean;
  /** Processes that share the files, side by side; 1. */
  shards?: number;
}

export interface Counts {
  passed: number;
  failed: number;
  /** The beginnings of the reports of failed tests. */
  failures?: string;
  /** Where each test is and why it failed, in a line. */
  failedTests: string[];
  /** Where each test is that this machine cannot run. */
  skippedTests: string[];
  /** Tests that failed once and passed when their file was rerun. */
  flaky?: string;
}

export interface Run extends Counts {
  /** Null if a failure belongs to no file, or the run was interrupted. */
  failedFiles: { path: string; passed: number }[] | null;
}

/** Each test's programs load the same modules; where Node looks for them by itself, too. */
const NODE_COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

/** Limit of what is repeated at the end. */
const MAX_FAILURES_SHOWN = 8;
const MAX_FAILURE_LINES = 6;
/** With more failed files than this, a stage is broken, not flaky. */
const MAX_FILES_TO_RERUN = 8;

/** `prefix`: of each line that it writes, where another stage writes at the same time. */
export async function runStage(stage: Stage, prefix = ''): Promise<Run> {
  const runs = await Promise.all(
    divide(stage).map((command, index) => runCommand(command, { prefix, MOCHA_WORKER_ID: String(index) })),
  );
  const parts = runs.map((run) => readRun(run, stage));
  const failures = parts.flatMap(({ failures }) => failures || []).join('\n');
  const isBroken = parts.some(({ failedFiles }) => failedFiles === null);
  return {
    passed: sum(parts.map(({ passed }) => passed)),
    failed: sum(parts.map(({ failed }) => failed)),
    ...(failures && { failures }),
    failedTests: parts.flatMap(({ failedTests }) => failedTests),
    skippedTests: parts.flatMap(({ skippedTests }) => skippedTests),
    failedFiles: isBroken ? null : parts.flatMap(({ failedFiles }) => failedFiles!),
  };
}

/**
 * The few files of real processes in which something failed, once more and one after the other: a machine that stalls for
 * seconds fails a test in some thousands. What passes then is reported as flaky, what fails again has failed.
 */
export async function runFailedAgain(stage: Stage, first: Run, prefix = ''): Promise<Counts> {
  const files = first.failedFiles ?? [];
  if (!stage.isRepeated || files.length === 0 || files.length > MAX_FILES_TO_RERUN) return first;
  const paths = files.map(({ path }) => path);
  console.log(`\n${prefix}=== again: ${paths.join(' ')} ===`);
  const rest = stage.command.filter((word) => !isTestFile(word) && word !== '--parallel');
  const command = [...rest, ...paths];
  const second = await runStage({ ...stage, command, shards: 1 }, prefix);
  const passed = first.passed - sum(files.map(({ passed }) => passed)) + second.passed;
  const { skippedTests } = first;
  if (second.failed > 0) return { ...second, passed, skippedTests };
  return {
    passed,
    failed: 0,
    failedTests: [],
    skippedTests,
    ...(first.failures && { flaky: first.failures }),
  };
}

/** A command for each shard, which end at about the same time. */
function divide({ command, shards = 1 }: Stage): string[][] {
  const rest = command.filter((word) => !isTestFile(word));
  return divideEvenly(command.filter(isTestFile), shards).map((files) => [...rest, ...files]);
}

/** What is no run of tests, or did not come to one. */
export const countAsOne = (isPassed: boolean): Run => ({
  passed: isPassed ? 1 : 0,
  failed: isPassed ? 0 : 1,
  failedTests: [],
  skippedTests: [],
  failedFiles: null,
});

function readRun({ code, output }: CommandEnd, { isMocha }: Stage): Run {
  if (!isMocha) return countAsOne(code === 0);
  const passed = readCount(output, 'passing');
  const failed = readCount(output, 'failing');
  const failedFiles = [...output.matchAll(/^failed file (\S+) \((\d+) passed\)$/gm)].map(
    ([, path, count]) => ({ path: path!, passed: Number(count) }),
  );
  const listNamed = (what: string) =>
    [...output.matchAll(new RegExp(`^${what} test (.*)$`, 'gm'))].map(([, test]) => test!);
  const failedTests = listNamed('failed');
  const skippedTests = listNamed('skipped');
  // A run without a summary, or without tests, has failed, too.
  if (failed === 0 && (code !== 0 || passed === 0))
    return { passed, failed: 1, failedTests, skippedTests, failedFiles: null };
  const hasStray = failedFiles.some(({ path }) => !isTestFile(path));
  const failures = readFailures(output);
  return { passed, failed, failures, failedTests, skippedTests, failedFiles: hasStray ? null : failedFiles };
}

interface CommandEnd {
  code: number;
  output: string;
}

/** The first shard's lines are written as they come, with the prefix; those of others once it ends. */
function runCommand(
  [command, ...args]: string[],
  { prefix, ...variables }: { prefix: string; MOCHA_WORKER_ID: string },
): Promise<CommandEnd> {
  const isHeld = variables.MOCHA_WORKER_ID !== '0';
  return new Promise((resolve) => {
    const env = { NODE_COMPILE_CACHE, ...process.env, ...variables };
    const child = spawn(command!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const held: string[] = [];
    const write = (line: string) => {
      if (isHeld) held.push(prefix + line);
      else console.log(prefix + line);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', write);
    child.once('error', (error) => {
      console.error(error.message);
      resolve({ code: 1, output });
    });
    child.once('close', (code) => {
      if (held.length > 0) console.log(held.join('\n'));
      resolve({ code: code ?? 1, output: stripVTControlCharacters(output) });
    });
  });
}

/** Recognizes files in a command's words and in what Mocha names. */
export const isTestFile = (word: string): boolean => word.endsWith('.test.ts');
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

const readCount = (output: string, word: string): number =>
  sum([...output.matchAll(new RegExp(`^ *(\\d+) ${word}\\b`, 'gm'))].map(([, count]) => Number(count)));

/** The beginnings of Mocha's own lists of what failed, without stack frames; a stage may run Mocha more than once. */
const readFailures = (output: string): string =>
  output
    .split(/^ *\d+ failing\b.*$/m)
    .slice(1)
    .flatMap((list) =>
      list
        .split(/^(?:slow|failed|skipped) (?:file|test) /m)[0]!
        .split(/^(?= {2}\d+\) )/m)
        .slice(1),
    )
    .slice(0, MAX_FAILURES_SHOWN)
    .flatMap((failure) =>
      failure
        .split('\n')
        .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
        .slice(0, MAX_FAILURE_LINES),
    )
    .join('\n');
