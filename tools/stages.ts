/** Runs the stages of `make test` in order, each with its time, and ends with `N passed, N failed`. */
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ensurePage } from '../launch/local-console.ts';
import { ensureBinary } from '../test/cluster/binaries.ts';
import { ensureValkey } from './valkey.ts';

interface Stage {
  command: string[];
  /** Mocha's counts are read from its output; other stages count as one. */
  isMocha: boolean;
  /** Built before it starts: the first build of these takes longer than any test may. */
  programs?: string[];
  /** Tests of several processes start the console, the first of which would build its page. */
  needsPage?: boolean;
}

interface Counts {
  passed: number;
  failed: number;
  /** What a reader of the last lines needs to know of the failed tests. */
  failures?: string;
}

interface Outcome extends Counts {
  stage: string;
  seconds: number;
  /** What failed once and passed when its file was run again. */
  flaky?: string;
}

const REPORTER = ['--reporter', './tools/failed-files-reporter.ts'];

const listTests = (folder: string): string[] => globSync(`test/${folder}/**/*.test.ts`).sort();
const mocha = (folder: string, timeoutMs: number, files = listTests(folder)): Stage => ({
  command: ['mocha', '--exit', '--forbid-only', ...REPORTER, '--timeout', String(timeoutMs), ...files],
  isMocha: true,
});
const check = (...command: string[]): Stage => ({ command, isMocha: false });

const CHART_PROGRAMS = ['etcd', 'kube-apiserver', 'helm', 'kubeconform', 'helm-unittest'];

/** Each test's programs load the same modules; where Node looks for them by itself, too. */
const NODE_COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

/** Of what is told once more at the end. */
const MAX_FAILURES_SHOWN = 8;
const MAX_FAILURE_LINES = 6;
/** Failed in more files than this, a stage is broken, not unlucky. */
const MAX_FILES_TO_RERUN = 2;

/** Files at a time, each in a process of its own: their tests mostly wait for something. */
const INTEGRATION_JOBS = Number(process.env.JOBS ?? 2);
/** These begin first, so that none of them is what everything waits for at the end. */
const LONGEST = [
  'jobs/storm',
  'redis/sentinel',
  'operator/lifecycle',
  'storage/store-behaviour',
  'redis/tenant-bounds',
  'front/sidecar',
  'gateway/large-bodies',
  'front/front',
  'jobs/recovery',
].map((name) => `test/integration/${name}.test.ts`);

function integration(): Stage {
  const files = [...LONGEST, ...listTests('integration').filter((file) => !LONGEST.includes(file))];
  const parallel = INTEGRATION_JOBS > 1 ? ['--parallel', '--jobs', String(INTEGRATION_JOBS)] : [];
  const stage = mocha('integration', 120_000, [...parallel, ...files]);
  return { ...stage, programs: ['etcd', 'kube-apiserver', 'helm', 'versitygw'], needsPage: true };
}

const STAGES: Record<string, () => Stage> = {
  lint: () => check('sh', '-c', 'biome check --error-on-warnings . && node tools/import-directions.ts'),
  types: () => check('sh', '-c', 'tsc --noEmit && tsc --noEmit -p console/web'),
  verify: () => check('node', 'tools/generate/main.ts', '--verify'),
  unit: () => mocha('unit', 10_000),
  integration,
  conformance: () => ({ ...mocha('conformance', 120_000), programs: ['versitygw'] }),
  chart: () => ({ ...mocha('chart', 300_000), programs: CHART_PROGRAMS }),
  console: () => mocha('console', 60_000),
  e2e: () => ({
    ...mocha('e2e', 300_000),
    command: ['node', 'test/e2e/main.ts', ...mocha('e2e', 300_000).command.slice(1)],
  }),
  // It chooses the files by the engine, and is no part of `make test`: it downloads gigabytes.
  engines: () => ({
    ...mocha('engines', 120_000),
    command: ['node', 'test/engines/main.ts', ...mocha('engines', 120_000, []).command.slice(1)],
  }),
};

async function runStage(name: string): Promise<Outcome> {
  const stage = STAGES[name]!();
  console.log(`\n=== ${name} ===`);
  try {
    for (const program of stage.programs ?? []) await ensureBinary(program);
    // Fetched before a test's own time begins to run.
    if (stage.isMocha && name !== 'unit') ensureValkey();
    if (stage.needsPage) await buildPage();
  } catch (error) {
    console.error((error as Error).message);
    return { stage: name, passed: 0, failed: 1, seconds: 0 };
  }
  const start = performance.now();
  const first = await runTests(stage);
  const again = stage.isMocha && name !== 'unit' ? await runAgain(stage, first) : undefined;
  const seconds = Math.round((performance.now() - start) / 1000);
  return { ...(again ?? first), stage: name, seconds };
}

interface Run extends Counts {
  /** Null where what failed belongs to no file, or the run broke off. */
  failedFiles: { path: string; passed: number }[] | null;
}

async function runTests({ command, isMocha }: Stage): Promise<Run> {
  const { code, output } = await runCommand(command);
  if (!isMocha) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, failedFiles: null };
  const passed = readCount(output, 'passing');
  const failed = readCount(output, 'failing');
  const failedFiles = [...output.matchAll(/^failed file (\S+) \((\d+) passed\)$/gm)].map(
    ([, path, count]) => ({ path: path!, passed: Number(count) }),
  );
  // A run that broke off before its summary, or ran nothing, has failed too.
  if (failed === 0 && (code !== 0 || passed === 0)) return { passed, failed: 1, failedFiles: null };
  const hasStray = failedFiles.some(({ path }) => !path.endsWith('.test.ts'));
  return { passed, failed, failures: readFailures(output), failedFiles: hasStray ? null : failedFiles };
}

/**
 * The one or two files of real processes in which something failed, once more: a machine that stalls for
 * seconds fails a test in some thousands. What passes then is told as flaky, what fails again has failed.
 */
async function runAgain(stage: Stage, first: Run): Promise<(Counts & Pick<Outcome, 'flaky'>) | undefined> {
  const files = first.failedFiles ?? [];
  if (files.length === 0 || files.length > MAX_FILES_TO_RERUN) return undefined;
  const paths = files.map(({ path }) => path);
  console.log(`\n=== again: ${paths.join(' ')} ===`);
  const command = [...stage.command.filter((word) => !word.endsWith('.test.ts')), ...paths];
  const second = await runTests({ ...stage, command });
  const before = files.reduce((sum, { passed }) => sum + passed, 0);
  const passed = first.passed - before + second.passed;
  if (second.failed > 0) return { ...second, passed };
  return { passed, failed: 0, flaky: first.failures };
}

async function buildPage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-page-'));
  try {
    await ensurePage(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runCommand([command, ...args]: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const env = { NODE_COMPILE_CACHE, ...process.env };
    const child = spawn(command!, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
    });
    child.once('error', (error) => {
      console.error(error.message);
      resolve({ code: 1, output });
    });
    child.once('close', (code) => resolve({ code: code ?? 1, output: stripVTControlCharacters(output) }));
  });
}

const readCount = (output: string, word: string): number =>
  [...output.matchAll(new RegExp(`^ *(\\d+) ${word}\\b`, 'gm'))].reduce(
    (sum, match) => sum + Number(match[1]),
    0,
  );

/** The beginnings of Mocha's own list of what failed, without stack frames. */
const readFailures = (output: string): string =>
  (output.split(/^ *\d+ failing\b.*$/m)[1] ?? '')
    .split(/^(?= {2}\d+\) )/m)
    .slice(1, MAX_FAILURES_SHOWN + 1)
    .flatMap((failure) =>
      failure
        .split('\n')
        .filter((line) => line.trim() !== '' && !/^\s+at |^failed file /.test(line))
        .slice(0, MAX_FAILURE_LINES),
    )
    .join('\n');

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in STAGES));
if (names.length === 0 || unknown.length > 0) {
  console.error(`usage: stages.ts STAGE…; stages: ${Object.keys(STAGES).join(', ')}`);
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const name of names) outcomes.push(await runStage(name));

for (const { stage, failures, flaky } of outcomes) {
  if (failures) console.log(`\nfailed in ${stage}:\n${failures}`);
  if (flaky) console.log(`\nflaky in ${stage}: failed, and passed when run again:\n${flaky}`);
}
console.log('\nstage         passed  failed  seconds');
for (const { stage, passed, failed, seconds } of outcomes)
  console.log(
    `${stage.padEnd(12)}  ${String(passed).padStart(6)}  ${String(failed).padStart(6)}  ${String(seconds).padStart(7)}`,
  );
const total = (key: 'passed' | 'failed') => outcomes.reduce((sum, outcome) => sum + outcome[key], 0);
console.log(`\n${total('passed')} passed, ${total('failed')} failed`);
process.exitCode = total('failed') > 0 ? 1 : 0;
