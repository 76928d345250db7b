import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import {
  deploySimulator,
  isPodReady,
  kubectl,
  listPods,
  readModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { startTraffic } from './traffic.ts';

/** Streams of a second each. */
const PACE = { SIMULATOR_TOKENS: '40', SIMULATOR_ITL_MS: '25' };

// Rollouts, deleted pods and changes of scale are tested in stress.test.ts, on a busy machine.
describe('while users chat through the ingress at a steady rate, two replicas lose nothing', function () {
  this.timeout(600_000);
  const name = 'steady';
  let endpoint: EndpointEntry;
  before(async () => {
    endpoint = await deploySimulator(name, { env: PACE, replicas: 2 });
    await waitForModel(name);
  });
  after(() => removeModel(name));

  async function expectNoFailure(disturb: () => Promise<void>): Promise<void> {
    const traffic = startTraffic(endpoint);
    let seen: Awaited<ReturnType<typeof traffic.stop>>;
    try {
      await traffic.more(10);
      await disturb();
      await traffic.more(10);
    } finally {
      seen = await traffic.stop();
    }
    expect(seen.failures).to.deep.equal([]);
    expect(seen.answers).to.be.greaterThan(20);
  }

  for (const component of ['operator', 'redis', 'front'])
    it(`to a restart of ${component}`, () =>
      expectNoFailure(async () => {
        const selector = `app.kubernetes.io/name=berth,app.kubernetes.io/component=${component}`;
        const list = () => listPods(selector, 'berth');
        const before = (await list()).map(({ metadata }) => metadata.uid);
        await kubectl('delete', 'pod', '-n', 'berth', '-l', selector, '--wait=false');
        await waitUntil('new pods in place of the old ones', 120, async () => {
          const pods = await list();
          const isNew = pods.every(({ metadata }) => !before.includes(metadata.uid));
          return isNew && pods.length >= before.length && pods.every(isPodReady);
        });
      }));

  it('and says Ready all in all', async () => {
    await waitForModel(name);
    expect((await readModel(name)).status.phase).to.equal('Ready');
  });
});
