import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { readContainer } from './containers.ts';
import { type CPULoad, startCPULoad } from './cpu-load.ts';
import {
  deploySimulator,
  isPodReady,
  kubectl,
  listModelPods,
  patchModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { startTraffic, type Traffic } from './traffic.ts';

const NAMES = ['pressed-pair', 'pressed-single'] as const;
/** Streams of a second each, where there is a core to spare. */
const PACE = { SIMULATOR_TOKENS: '40', SIMULATOR_ITL_MS: '25' };
const TEST_TIMEOUT_MS = 300_000;
/** Share of a core that each worker of the load gets at least beside everything that a test runs; with less, it was idle. */
const MIN_WORKER_SHARE = 0.02;
/** Requests to a deleted deployment are refused by its front, or by the route that is left when its own is gone. */
const DELETED = /: (404 not_found|503 no_pod_available) /;
const NO_REPLICA = /: 503 no_pod_available .*(no ready replica|[Nn]o replica is ready|is scaled to zero)/;

describe('on a node whose every core is busy', function () {
  this.timeout(TEST_TIMEOUT_MS);
  let load: CPULoad;
  let startedAt: number;
  let pair: EndpointEntry;
  let single: EndpointEntry;
  before(async () => {
    [pair, single] = await Promise.all([
      deploySimulator('pressed-pair', { env: PACE, replicas: 2 }),
      deploySimulator('pressed-single', { env: PACE }),
    ]);
    await Promise.all(NAMES.map((name) => waitForModel(name)));
  });
  beforeEach(async () => {
    // Longer than the test.
    load = await startCPULoad(TEST_TIMEOUT_MS / 1_000 + 60);
    startedAt = performance.now();
  });
  afterEach(() => load?.stop());
  after(async () => {
    await Promise.all([...NAMES, 'pressed-neighbor', 'pressed-doomed'].map(removeModel));
  });

  /** Disturbs both under traffic; returns the failures of each. */
  async function watch(disturb: () => Promise<void>): Promise<{ pair: string[]; single: string[] }> {
    const all: Traffic[] = [startTraffic(pair), startTraffic(single)];
    const more = () => Promise.all(all.map((traffic) => traffic.more(5)));
    let seen: Awaited<ReturnType<Traffic['stop']>>[];
    try {
      await more();
      await disturb();
      await more();
    } finally {
      seen = await Promise.all(all.map((traffic) => traffic.stop()));
    }
    expectLoad();
    for (const pod of (await Promise.all(NAMES.map(listModelPods))).flat())
      expect(readContainer(pod, 'engine').restartCount, `${pod.metadata.name}, by its probes`).to.equal(0);
    for (const { answers } of seen) expect(answers).to.be.greaterThan(0);
    return { pair: seen[0]!.failures, single: seen[1]!.failures };
  }

  /** Every core had something else to do, to the very end. */
  function expectLoad(): void {
    expect(load.exitCode, 'stress-ng runs').to.equal(null);
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(load.workers).to.be.greaterThan(0);
    expect(load.readSeconds() / (seconds * load.workers)).to.be.greaterThan(MIN_WORKER_SHARE);
  }

  /** Between two pods nobody can respond, but started requests are finished. */
  const expectNothingCut = (failures: readonly string[]) =>
    expect(failures.filter((failure) => !NO_REPLICA.test(failure))).to.deep.equal([]);

  async function waitForPods(name: string, count: number, gone: readonly string[]): Promise<void> {
    await waitUntil(`${count} ready pods of ${name}`, 120, async () => {
      const pods = await listModelPods(name);
      return (
        pods.length === count && pods.every((pod) => isPodReady(pod) && !gone.includes(pod.metadata.uid))
      );
    });
  }
  const listUIDs = async (name: string) => (await listModelPods(name)).map(({ metadata }) => metadata.uid);

  it('nobody loses anything to a neighbor that starts', async () => {
    const failures = await watch(async () => {
      await deploySimulator('pressed-neighbor', { replicas: 2 });
      await waitForModel('pressed-neighbor', 120);
    });
    expect(failures).to.deep.equal({ pair: [], single: [] });
  });

  it('two replicas lose nothing to a deleted pod, and one has no answer cut by it', async () => {
    const failures = await watch(async () => {
      const firsts = await Promise.all(NAMES.map(async (name) => (await listModelPods(name))[0]!));
      const gone = firsts.map(({ metadata }) => metadata);
      await kubectl('delete', 'pod', ...gone.map((pod) => pod.name), '--wait=false');
      const uids = gone.map(({ uid }) => uid);
      await waitForPods('pressed-pair', 2, uids);
      await waitForPods('pressed-single', 1, uids);
    });
    expect(failures.pair).to.deep.equal([]);
    expectNothingCut(failures.single);
  });

  it('two replicas lose nothing to a rollout, and one has no answer cut by its own', async () => {
    const failures = await watch(async () => {
      const before = { pair: await listUIDs('pressed-pair'), single: await listUIDs('pressed-single') };
      await patchModel('pressed-pair', { rollout: { revision: 'two' } });
      await patchModel('pressed-single', { rollout: { revision: 'two' } });
      await waitForPods('pressed-pair', 2, before.pair);
      await waitForPods('pressed-single', 1, before.single);
    });
    expect(failures.pair).to.deep.equal([]);
    expectNothingCut(failures.single);
  });

  it('two replicas lose nothing to a change of scale, and one has no answer cut by it', async () => {
    const scale = async (pair: number, single: number) => {
      await patchModel('pressed-pair', { replicas: pair });
      await patchModel('pressed-single', { replicas: single });
      await waitForPods('pressed-pair', pair, []);
      await waitForPods('pressed-single', single, []);
    };
    const failures = await watch(async () => {
      await scale(1, 0);
      await scale(2, 1);
    });
    expect(failures.pair).to.deep.equal([]);
    expectNothingCut(failures.single);
  });

  it('a deployment that is deleted ends what it answers, and harms no other', async () => {
    const doomed = await deploySimulator('pressed-doomed', { env: PACE, replicas: 2 });
    await waitForModel('pressed-doomed');
    const failures = await watch(async () => {
      const traffic = startTraffic(doomed);
      await traffic.more(5);
      await removeModel('pressed-doomed');
      await waitUntil(
        'its pods to be gone',
        120,
        async () => (await listModelPods('pressed-doomed')).length === 0,
      );
      const seen = await traffic.stop();
      expect(seen.failures.filter((failure) => !DELETED.test(failure))).to.deep.equal([]);
    });
    expect(failures).to.deep.equal({ pair: [], single: [] });
  });
});
