import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import {
  connect,
  deploySimulator,
  isPodReady,
  listModelPods,
  removeModel,
  waitUntil,
} from './installation.ts';
import { startTraffic } from './traffic.ts';

/** For several streams, so that the end of a single one does not scale down. */
const SCALING = { min: 1, max: 3, targetConcurrency: 2, stableWindow: '8s' };

describe('replicas that come and go with the load', function () {
  this.timeout(900_000);
  const name = 'tidal';
  let endpoint: EndpointEntry;
  const countReady = async () => (await listModelPods(name)).filter(isPodReady).length;
  before(async () => {
    const env = { SIMULATOR_TOKENS: '80', SIMULATOR_ITL_MS: '25' };
    endpoint = await deploySimulator(name, { env, scaling: SCALING });
    await waitUntil('the first replica', 180, async () => (await countReady()) === 1);
  });
  after(() => removeModel(name));

  it('are added under load and removed after it, while nobody is cut off', async () => {
    // Ten streams of two seconds at any time: more than the first replica is to have.
    const traffic = startTraffic(endpoint);
    await waitUntil('more replicas', 180, async () => (await countReady()) >= 2);
    await traffic.more(20);
    const burst = await traffic.stop();
    // One user goes on while the others have left.
    const client = connect(endpoint);
    const failures: string[] = [];
    let isOver = false;
    const user = (async () => {
      while (!isOver) {
        const messages = [{ role: 'user' as const, content: 'Go on.' }];
        let reason: string | null = null;
        try {
          const chunks = await client.chat.completions.create({
            model: endpoint.modelId,
            messages,
            stream: true,
          });
          for await (const chunk of chunks) reason = chunk.choices[0]?.finish_reason ?? reason;
          if (!reason) failures.push('a stream without an end');
        } catch (error) {
          failures.push(String(error));
        }
      }
    })();
    await waitUntil('one replica', 300, async () => {
      const pods = await listModelPods(name);
      return pods.filter(({ metadata }) => !metadata.deletionTimestamp).length === 1;
    });
    isOver = true;
    await user;
    expect([...burst.failures, ...failures]).to.deep.equal([]);
  });
});
