/**
 * `main.ts MOCHA-ARGUMENTS…`: the end-to-end tests on a cluster of their own, torn down at the end whatever happens.
 * Mocha runs behind the cluster's `exec` prefix, so that fetch, SDKs and kubectl find ingress hosts and pods by
 * themselves: once for each lane of files, where the lanes of a phase go on side by side. E2E_KEEP=1 keeps the cluster
 * for the next run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stopCluster } from '../../cluster/cluster.ts';
import type { Cluster } from '../../cluster/layout.ts';
import { installCluster } from '../../launch/cluster-up.ts';
import { writeEndpoints } from '../../launch/endpoints-file.ts';
import { ensureProgram } from '../../machine/system-package.ts';
import { isTestFile } from '../../tools/stage-run.ts';
import { ensureChromium } from '../support/chromium.ts';
import { ensurePython } from '../support/python.ts';
import { CLUSTER_VARIABLE, ENDPOINTS_FILE, OPENAI_PYTHON } from './environment.ts';
import { planFiles } from './lanes.ts';
import { lockRun } from './run-lock.ts';

/** Another name lets a second run go on beside this one. */
const CLUSTER = process.env[CLUSTER_VARIABLE] ?? 'berth-e2e';
const isKept = process.env.E2E_KEEP === '1';

/** For counting results: without a summary, a lane's tests must not be overlooked beside those of other lanes. */
const describeBreak = (args: string[]): string =>
  [
    '\n  1 failing\n\n  1) the run broke off before its end',
    // Later phases do not run either.
    ...(isInterrupted ? ['unknown'] : args.filter(isTestFile)).map(
      (file) => `failed file ${file} (0 passed)`,
    ),
  ].join('\n');
const hasSummary = (output: string): boolean => /^ *\d+ passing\b|^# pass \d+/m.test(output);

const running = new Set<ChildProcess>();
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true;
    for (const mocha of running) mocha.kill(signal);
  });

async function runTests(): Promise<number> {
  // PyPI and Debian cannot be reached from within the cluster's network.
  ensurePython([OPENAI_PYTHON]);
  ensureChromium();
  ensureProgram('stress-ng', 'stress-ng');
  // What a killed run left is not to be trusted.
  if (!isKept) await stopCluster(CLUSTER);
  const { cluster, endpoints } = await installCluster(CLUSTER, true);
  writeEndpoints(endpoints, join(cluster.stateFolder, ENDPOINTS_FILE));
  const settings = process.argv.slice(2).filter((argument) => !isTestFile(argument));
  const codes: number[] = [];
  for (const lanes of planFiles(process.argv.slice(2).filter(isTestFile))) {
    const runs = lanes.map((files) => runMocha(cluster, [...settings, ...files], lanes.length > 1));
    codes.push(...(await Promise.all(runs)));
  }
  return isInterrupted ? 130 : Math.max(...codes);
}

/** Resolves with its exit code. `isHeld`: its output is written at its end, since other lanes write at the same time. */
async function runMocha({ exec }: Cluster, args: string[], isHeld: boolean): Promise<number> {
  if (isInterrupted) return 130;
  const [program, ...rest] = [...exec, process.execPath, 'node_modules/.bin/mocha'];
  const mocha = spawn(program!, [...rest, '--require', 'test/e2e/hooks.ts', ...args], {
    env: { ...process.env, [CLUSTER_VARIABLE]: CLUSTER },
    stdio: ['inherit', 'pipe', 'pipe'],
  });
  running.add(mocha);
  const chunks: Buffer[] = [];
  for (const stream of [mocha.stdout, mocha.stderr])
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (!isHeld) process.stdout.write(chunk);
    });
  const [code] = (await once(mocha, 'close')) as [number | null];
  running.delete(mocha);
  const output = Buffer.concat(chunks);
  if (isHeld) process.stdout.write(output);
  if (isInterrupted || (code !== 0 && !hasSummary(output.toString()))) console.log(describeBreak(args));
  return code ?? 1;
}

const lock = await lockRun(CLUSTER);
try {
  process.exitCode = await runTests();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  if (!isKept) await stopCluster(CLUSTER);
  lock.release();
}
