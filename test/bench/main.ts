/** `make bench`: everything side by side in one run, since absolute figures on shared machines drift. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureProgram } from '../../tools/system-package.ts';
import { LOAD_CORE, startPinned, stopAllPinned, waitForPort } from './pinned-process.ts';
import { measureQueue, OPERATIONS, RECORDS } from './queue.ts';
import { formatQueue, listQueueGoals } from './queue-report.ts';
import { formatGoals, formatTable, listGoals, summarise } from './report.ts';
import { measureSystem, type Round } from './rounds.ts';
import { listSystems, PORTS, publishBench } from './systems.ts';

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SECONDS = Number(process.env.SECONDS ?? 6);
const ONLY = process.env.ONLY?.split(',');

async function main(): Promise<void> {
  for (const [program, debianPackage] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ['redis-server', 'redis-server'],
  ])
    ensureProgram(program!, debianPackage!);
  compile();
  const redisArgs = [
    '--port',
    String(PORTS.redis),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--dir',
    mkdtempSync(join(tmpdir(), 'berth-bench-')),
  ];
  startPinned(LOAD_CORE, { program: 'redis-server', args: redisArgs }, '/dev/null');
  await waitForPort(PORTS.redis);
  await publishBench();

  const systems = listSystems().filter(({ name }) => !ONLY || ONLY.includes(name));
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++)
    for (const system of systems) {
      console.log(`round ${round} of ${ROUNDS}: ${system.name}…`);
      rounds.push(await measureSystem(system, SECONDS));
    }
  const medians = summarise(rounds);
  console.log(`\n${formatTable(medians)}\n\n${formatGoals(listGoals(medians))}\n`);
  if (ONLY) return;
  console.log('the queue…');
  const figures = await measureQueue(RECORDS, OPERATIONS);
  console.log(`\n${formatQueue(figures)}\n\n${formatGoals(listQueueGoals(figures))}\n`);
}

/** Sources with types to strip would start later than what the image runs. */
function compile(): void {
  execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  execFileSync('node', ['build-assets.ts'], { stdio: 'inherit' });
  const scripts = ['engine', 'floor', 'sse-load'].map((name) => `test/bench/${name}.ts`);
  const options = [
    '--outDir',
    'dist-bench',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--skipLibCheck',
    '--ignoreConfig',
  ];
  execFileSync('tsc', [...scripts, ...options, '--types', 'node', '--rewriteRelativeImportExtensions'], {
    stdio: 'inherit',
  });
}

await main().finally(stopAllPinned);
