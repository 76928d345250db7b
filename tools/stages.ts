/**
 * `stages.ts TARGET|STAGE…`: runs the stages of `make test` and of the other targets in order, each with its time. It
 * ends with what was not run, and with `N passed, N failed`.
 * On machines with more than two cores, the cluster's tests (BESIDE, e2e) go on beside the others. On two cores, a
 * cluster beside other stages has too little time for its pods, and requests time out. BESIDE= runs all in a row.
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearGoCache, ensureBinary } from '../cluster/binaries.ts';
import { CLUSTER_PROGRAMS } from '../cluster/cluster.ts';
import { ensurePage } from '../launch/local-console.ts';
import { ensureValkey } from '../machine/valkey.ts';
import { countBusyCores } from './busy-cores.ts';
import { sortByDuration } from './file-seconds.ts';
import { ensureGatewayBundle } from './gateway-bundle.ts';
import { type Counts, countAsOne, type Run, runFailedAgain, runStage, type Stage } from './stage-run.ts';

interface TestStage extends Stage {
  /** Built with Go before it starts: the first build of these takes longer than any test may. */
  programs?: string[];
  /** Tests of several processes start the console, the first of which would build its page. */
  needsPage?: boolean;
  /** It runs before all others, beside none: it tells within two minutes what is wrong, and its tests have seconds. */
  isEarly?: boolean;
  /** It measures: it runs after all others, beside none. */
  isAlone?: boolean;
}

interface Spent {
  stage: string;
  seconds: number;
  /** Busy ones of the machine on average, also with what ran beside the stage. */
  cores: number;
}

const PARTS = ['--reporter', './tools/file-reporter.ts', '--require', './tools/unhandled-rejections.ts'];

const listTests = (folder: string): string[] => globSync(`test/${folder}/**/*.test.ts`).sort();
const mocha = (folder: string, timeoutMs: number, files = listTests(folder)): TestStage => ({
  command: ['mocha', '--exit', '--forbid-only', ...PARTS, '--timeout', String(timeoutMs), ...files],
  isMocha: true,
  isRepeated: folder !== 'unit',
});
const check = (...command: string[]): TestStage => ({ command, isMocha: false });
const checkEarly = (...command: string[]): TestStage => ({ ...check(...command), isEarly: true });

const CHART_PROGRAMS = ['etcd', 'kube-apiserver', 'helm', 'kubeconform', 'helm-unittest', 'healthcheck'];

/** Files at a time, in processes of their own: their tests mostly wait for something. */
const JOBS = Number(process.env.JOBS ?? 3);
/** Where they wait most of the time: they keep 1.6 of two cores busy by three. */
const WAITING_JOBS = JOBS > 1 ? JOBS + 1 : JOBS;
/** Columns of the longest stage's name. */
const NAME_WIDTH = 'integration-cluster'.length;
/** At the end of all, for each stage. */
const MAX_TESTS_NAMED = 5;
/** For programs that keep a core busy by themselves, as a browser does. */
const BUSY_JOBS = Math.min(JOBS, 2);

/** Those that take longest start first, so that they do not delay the end. */
function parallel(folder: string, timeoutMs = 120_000, jobs = JOBS): TestStage {
  const settings = jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : [];
  return mocha(folder, timeoutMs, [...settings, ...sortByDuration(listTests(folder))]);
}

const STAGES: Record<string, () => TestStage> = {
  lint: () => checkEarly('npm', 'run', '--silent', 'lint'),
  types: () => checkEarly('sh', '-c', 'tsc --noEmit && tsc --noEmit -p console/web'),
  verify: () => checkEarly('node', 'tools/generate/main.ts', '--verify'),
  unit: () => ({ ...parallel('unit', 10_000, BUSY_JOBS), isEarly: true }),
  integration: () => parallel('integration', 120_000, WAITING_JOBS),
  launch: () => ({ ...parallel('launch', 120_000, WAITING_JOBS), needsPage: true }),
  // Most files of a process share one `make run`; the coding agents, which mostly wait, take as long as all others.
  conformance: () => ({ ...mocha('conformance', 120_000), shards: JOBS, needsPage: true }),
  // All files of a process share one `make run` and one Chromium.
  console: () => ({ ...mocha('console', 60_000), shards: BUSY_JOBS, needsPage: true }),
  'integration-cluster': () => ({
    ...parallel('integration-cluster'),
    programs: ['etcd', 'kube-apiserver', 'kube-apiserver-oldest', 'kubectl', 'helm', 'versitygw', 'weed'],
    needsPage: true,
  }),
  chart: () => ({ ...parallel('chart', 300_000, BUSY_JOBS), programs: CHART_PROGRAMS }),
  // Each file waits for its own cluster most of the time.
  kind: () => ({ ...parallel('kind', 900_000, 2), programs: [...CLUSTER_PROGRAMS, 'helm'] }),
  e2e: () => ({
    ...mocha('e2e', 300_000),
    command: ['node', 'test/e2e/main.ts', ...mocha('e2e', 300_000).command.slice(1)],
    programs: CLUSTER_PROGRAMS,
  }),
  // Part of no target: Kueue takes long to build.
  kueue: () => ({
    ...mocha('kueue', 400_000),
    programs: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kueue'],
  }),
  bench: () => ({ ...check('node', 'test/bench/check/main.ts', '--wide'), isAlone: true }),
  // It chooses the files by the engine, and is part of no target: it downloads gigabytes.
  engines: () => ({
    ...mocha('engines', 120_000),
    command: ['node', 'test/engines/main.ts', ...mocha('engines', 120_000, []).command.slice(1)],
  }),
};

interface Target {
  stages: string[];
  what: string;
  /** On two cores, once what it needs is in the cache. */
  minutes: number;
  /** What is fetched or built the first time. */
  first: string;
}

const TARGETS: Record<string, Target> = {
  test: {
    stages: ['lint', 'types', 'verify', 'unit', 'integration'],
    what: "Berth's own behavior, with a real Valkey",
    minutes: 9,
    first: 'a minute more for packages of Debian and npm',
  },
  'test-clients': {
    stages: ['launch', 'conformance', 'console', 'bench'],
    what: 'make run, SDKs, agents, the console in Chromium, speed',
    minutes: 18,
    first: 'a few more for packages of Debian, npm and PyPI',
  },
  'test-cluster': {
    stages: ['integration-cluster', 'chart', 'kind', 'e2e'],
    what: 'a real API server, kubectl, Helm, S3 servers, clusters by kind',
    minutes: 45,
    first: 'half an hour more for programs that Go builds',
  },
};
/** No part of any. */
const FURTHER = [
  'real engines: make test-engines',
  'long tests of scaling: make test-scaling, make test-scaling-cluster',
  'a real Kueue: make test-kueue',
  'other versions of Redis: make test-redis-versions',
];

async function run(name: string, prefix = ''): Promise<Run & Spent> {
  const stage = STAGES[name]!();
  console.log(`\n${prefix}=== ${name} ===`);
  try {
    await buildPrograms(stage);
    // Fetched before a test's own time begins to run.
    if (stage.isRepeated) {
      ensureValkey();
      await ensureGatewayBundle();
    }
    if (stage.needsPage) await buildPage();
  } catch (error) {
    console.error((error as Error).message);
    return { ...countAsOne(false), stage: name, seconds: 0, cores: 0 };
  }
  const stopwatch = startStopwatch();
  const run = await runStage(stage, prefix);
  return { ...run, ...stopwatch(), stage: name };
}

async function buildPrograms({ programs = [] }: TestStage): Promise<void> {
  for (const program of programs) await ensureBinary(program);
}

function startStopwatch(): () => Omit<Spent, 'stage'> {
  const start = performance.now();
  const before = cpus();
  return () => ({
    seconds: Math.round((performance.now() - start) / 1000),
    cores: countBusyCores(before, cpus()),
  });
}

async function runInOrder(names: string[]): Promise<(Run & Spent)[]> {
  const outcomes: (Run & Spent)[] = [];
  for (const name of names) outcomes.push(await run(name));
  return outcomes;
}

async function buildPage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-page-'));
  try {
    await ensurePage(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2);
const names = asked.flatMap((name) => TARGETS[name]?.stages ?? name);
if (names.length === 0 || names.some((name) => !(name in STAGES))) {
  const list = (each: object) => Object.keys(each).join(', ');
  console.error(`usage: stages.ts TARGET|STAGE…; targets: ${list(TARGETS)}; stages: ${list(STAGES)}`);
  process.exit(2);
}
for (const [target, { stages, what, minutes, first }] of Object.entries(TARGETS))
  if (asked.includes(target))
    console.log(
      `make ${target}: ${what} (${stages.join(', ')}). About ${minutes} min on two cores, the first time ${first}.`,
    );

const stopwatch = startStopwatch();
const early = names.filter((name) => STAGES[name]!().isEarly);
const alone = names.filter((name) => STAGES[name]!().isAlone);
const shared = names.filter((name) => !early.includes(name) && !alone.includes(name));
const { BESIDE = availableParallelism() > 2 ? 'e2e' : '' } = process.env;
const beside = shared.filter((name) => name === BESIDE);
const outcomes = await runInOrder(early);
// Compilers would keep all cores from the first tests. What cannot be built is told by the stage that needs it.
for (const name of shared) await buildPrograms(STAGES[name]!()).catch(() => {});
clearGoCache();
outcomes.push(
  ...(
    await Promise.all([
      runInOrder(shared.filter((name) => !beside.includes(name))),
      ...beside.map(async (name) => [await run(name, `${name}| `)]),
    ])
  ).flat(),
);
outcomes.push(...(await runInOrder(alone)));
// What the machine was too busy for gets a second chance when nothing else runs.
const results: (Counts & Spent)[] = [];
for (const { stage, seconds, cores, ...first } of outcomes)
  results.push({ ...(await runFailedAgain(STAGES[stage]!(), first)), stage, seconds, cores });

for (const { stage, failures, flaky } of results) {
  if (failures) console.log(`\nfailed in ${stage}:\n${failures}`);
  if (flaky) console.log(`\nflaky in ${stage}: failed, and passed when run again:\n${flaky}`);
}
const total = (key: 'passed' | 'failed') => results.reduce((sum, outcome) => sum + outcome[key], 0);
const all = { stage: 'all', passed: total('passed'), failed: total('failed'), ...stopwatch() };
console.log(`\n${'stage'.padEnd(NAME_WIDTH)}  passed  failed  seconds  cores`);
for (const { stage, passed, failed, seconds, cores } of [...results, all])
  console.log(
    [
      stage.padEnd(NAME_WIDTH),
      String(passed).padStart(6),
      String(failed).padStart(6),
      String(seconds).padStart(7),
      cores.toFixed(1).padStart(5),
    ].join('  '),
  );
// Where only the end of all this is kept, it says what failed.
for (const { stage, failedTests } of results)
  for (const test of failedTests.slice(0, MAX_TESTS_NAMED)) console.log(`failed in ${stage}: ${test}`);
if (asked.some((name) => name in TARGETS)) {
  const others = Object.entries(TARGETS).filter(([target]) => !asked.includes(target));
  const rest = others.map(([target, { stages, what }]) => `${stages.join(', ')} (${what}): make ${target}`);
  console.log(`\nnot run:\n${[...rest, ...FURTHER].map((line) => `  ${line}`).join('\n')}`);
}
const skipped = results.flatMap(({ skippedTests }) => skippedTests);
if (skipped.length > 0)
  console.log(`\nskipped on this machine:\n${skipped.map((test) => `  ${test}`).join('\n')}`);
console.log(`\n${all.passed} passed, ${all.failed} failed`);
process.exitCode = all.failed > 0 ? 1 : 0;
