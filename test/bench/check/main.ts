/**
 * `make bench-check`: whether the gateway has become slower than in `test/bench/baseline.json`; RECORD=1 writes that file, TRACING=1
 * compares the gateway with traces to the one without instead.
 * `--wide`, for `make test-clients`: with bands that hold on busy machines and on others than the recorded one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../../../machine/cache-folder.ts';
import { awaitProcessLock } from '../../../machine/process-lock.ts';
import { compileGatewayBench, ensureBenchPrograms } from '../compile.ts';
import { canPin, refuseTakenPorts, stopAllPinned } from '../pinned-process.ts';
import { startBenchRedis, withRedis } from '../redis.ts';
import { PORTS, publishBench } from '../systems.ts';
import {
  type Baseline,
  buildBaseline,
  type Figures,
  formatBaseline,
  formatCheck,
  isWorse,
  readFigures,
  takeBetter,
  widen,
} from './regression.ts';
import { findSystem, measureShortRun } from './short-run.ts';
import { describeTraced, startTraceSink } from './traced-system.ts';
import { formatTracing } from './tracing.ts';

const FILE = 'test/bench/baseline.json';
const IS_WIDE = process.argv.includes('--wide');
const IS_RECORDING = process.env.RECORD === '1';
const IS_TRACING = process.env.TRACING === '1';
const ROUNDS = Number(process.env.ROUNDS ?? (IS_WIDE ? 3 : 5));
const REPEATS = Number(process.env.REPEATS ?? 5);
/** A description for comparisons, such as `2 cores, busy`. */
const MACHINE = process.env.MACHINE ?? `${availableParallelism()} cores`;

const measure = async (): Promise<Figures> => readFigures(await measureShortRun(ROUNDS));

async function check(): Promise<void> {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Baseline;
  const baseline = IS_WIDE ? widen(recorded) : recorded;
  let figures = await measure();
  console.log(`\n${formatCheck(figures, baseline)}\n`);
  if (isWorse(figures, baseline)) {
    console.log('once more, as a machine that stalls looks like that, too…');
    figures = takeBetter(figures, await measure());
    console.log(`\nthe better of both:\n${formatCheck(figures, baseline)}\n`);
  }
  if (isWorse(figures, baseline)) process.exitCode = 1;
}

async function record(): Promise<void> {
  const measurements: Figures[] = [];
  for (let repeat = 1; repeat <= REPEATS; repeat++) {
    measurements.push(await measure());
    console.log(`${repeat} of ${REPEATS}: ${JSON.stringify(measurements.at(-1))}`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const baseline = buildBaseline(measurements, { date, machine: MACHINE });
  writeFileSync(FILE, `${JSON.stringify(baseline, null, 2)}\n`);
  console.log(`\n${formatBaseline(baseline)}\n\nwritten: ${FILE}`);
}

async function compareTracing(): Promise<void> {
  const { receiver, peer, peerAdmin, peerMetrics } = PORTS;
  await refuseTakenPorts([receiver, peer, peerAdmin, peerMetrics]);
  const stopSink = await startTraceSink();
  const pair = { floor: findSystem('berth'), berth: describeTraced() };
  console.log(`\n${formatTracing(await measureShortRun(ROUNDS, pair).finally(stopSink))}\n`);
}

async function main(): Promise<void> {
  ensureBenchPrograms();
  await compileGatewayBench();
  const { engine, redis, floor, berth, berthAdmin, berthMetrics } = PORTS;
  await refuseTakenPorts([engine, redis, floor, berth, berthAdmin, berthMetrics]);
  await startBenchRedis();
  await withRedis(publishBench);
  if (IS_TRACING) await compareTracing();
  else await (IS_RECORDING ? record() : check());
}

if (IS_WIDE && !canPin()) {
  console.log('not measured: this needs Linux, and two cores');
  process.exit();
}
// Two concurrent runs would disturb each other.
const lock = awaitProcessLock(join(CACHE_FOLDER, 'bench-check.lock'), 'bench/check');
process.once('exit', lock.release);
// An explicit exit removes the folders of an interrupted bench, too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
await main().finally(stopAllPinned);
