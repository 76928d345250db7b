/**
 * `main.ts MOCHA-ARGUMENTS…`: the end-to-end tests on a cluster of their own, torn down at the end whatever happens.
 * Mocha runs behind the cluster's `exec` prefix, so that fetch, SDKs and kubectl find ingress hosts and pods by
 * themselves. E2E_KEEP=1 keeps the cluster for the next run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { stopCluster } from '../../cluster/cluster.ts';
import { installCluster } from '../../launch/cluster-up.ts';
import { writeEndpoints } from '../../launch/endpoints-file.ts';
import { ensureProgram } from '../../machine/system-package.ts';
import { ensurePython } from '../support/python.ts';
import { CLUSTER_VARIABLE, ENDPOINTS_FILE, OPENAI_PYTHON } from './environment.ts';
import { lockRun } from './run-lock.ts';

/** Another name lets a second run go on beside this one. */
const CLUSTER = process.env[CLUSTER_VARIABLE] ?? 'berth-e2e';
const isKept = process.env.E2E_KEEP === '1';

let mocha: ChildProcess | undefined;
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true;
    mocha?.kill(signal);
  });

async function runTests(): Promise<number> {
  // There is no way out to PyPI and Debian from within.
  ensurePython([OPENAI_PYTHON]);
  ensureProgram('chromium', 'chromium');
  ensureProgram('stress-ng', 'stress-ng');
  // What a killed run left is not to be trusted.
  if (!isKept) await stopCluster(CLUSTER);
  const { cluster, endpoints } = await installCluster(CLUSTER);
  writeEndpoints(endpoints, join(cluster.stateFolder, ENDPOINTS_FILE));
  if (isInterrupted) return 130;
  const [program, ...args] = [...cluster.exec, process.execPath, 'node_modules/.bin/mocha'];
  mocha = spawn(program!, [...args, '--require', 'test/e2e/hooks.ts', ...process.argv.slice(2)], {
    env: { ...process.env, [CLUSTER_VARIABLE]: CLUSTER },
    stdio: 'inherit',
  });
  return new Promise((resolve) => mocha!.once('close', (code) => resolve(code ?? 1)));
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
