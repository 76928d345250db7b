/** With `scaling.idle: Sleep`: an idle engine frees its GPU's memory, and the next request wakes it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CONTAINERS } from '../../api/names.ts';
import { readDeployment, selectPods } from './deployment.ts';
import { type Checks, failed, judge, kubectl, ms, NO_CLUSTER, skipped, timeOf } from './endpoint.ts';

const POLL_MS = 2_000;
/** The longest `idleTimeout` that anyone waits for. */
const ASLEEP_TIMEOUT_MS = 60 * 60_000;
const QUERY = ['nvidia-smi', '--query-gpu=memory.used', '--format=csv,noheader,nounits'];

const listPods = (): Promise<string | undefined> => kubectl('get', 'pods', ...selectPods(), '-o', 'name');

/** MiB of all GPUs of its pod; undefined if not reported. */
async function readMemory(): Promise<number | undefined> {
  const [pod] = (await listPods())!.split('\n');
  const text = await kubectl('exec', pod!, '-c', CONTAINERS.engine, '--', ...QUERY).catch(() => undefined);
  return text
    ?.trim()
    .split('\n')
    .reduce((sum, line) => sum + Number(line), 0);
}

async function untilAsleep(): Promise<boolean> {
  for (const end = performance.now() + ASLEEP_TIMEOUT_MS; performance.now() < end; await sleep(POLL_MS))
    if ((await readDeployment())?.status.scaling?.asleep) return true;
  return false;
}

/** Waits until the deployment was idle for its `idleTimeout`; `ask` is what wakes it. */
export const listSleepChecks = (ask: () => Promise<unknown>): Checks => ({
  'the engine sleeps when it is idle, and is woken by a request': async () => {
    const deployment = await readDeployment();
    if (!deployment) return NO_CLUSTER;
    const { scaling } = deployment.spec;
    if (scaling?.idle !== 'Sleep' || scaling.min !== 0)
      return skipped('set spec.scaling.idle: Sleep, with min: 0');
    await ask();
    const awake = await readMemory();
    if (!(await untilAsleep())) return failed('it did not fall asleep within an hour');
    const [pods, asleep] = [await listPods(), await readMemory()];
    const waking = await timeOf(ask);
    const usual = await timeOf(ask);
    const memory =
      awake === undefined || asleep === undefined
        ? 'nothing tells of the GPU’s memory'
        : `${awake} MiB awake, ${asleep} MiB asleep`;
    const isFreed = awake === undefined || asleep === undefined || asleep < awake / 2;
    const isSame = (await listPods()) === pods;
    return judge(
      isFreed && isSame,
      `${memory}; woken in ${ms(waking)}, ${ms(usual)} after that${isSame ? '' : '; its pod was replaced'}`,
    );
  },
});
