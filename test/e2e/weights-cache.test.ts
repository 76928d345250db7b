import { expect } from 'chai';
import {
  deploySimulator,
  findObject,
  kubectl,
  listModelPods,
  patchModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { type SharedWeights, startSharedWeights } from './shared-weights.ts';

describe('a cache of weights that deployments share', function () {
  this.timeout(600_000);
  let weights: SharedWeights;
  before(async () => {
    weights = await startSharedWeights('e2e/model', 'e2e-models');
  });
  after(async () => {
    await Promise.all(['cached-a', 'cached-b'].map(removeModel));
    await weights?.remove();
  });

  const deploy = (name: string, spec: object = {}) =>
    deploySimulator(name, {
      model: {
        id: `e2e/${name}`,
        source: weights.source,
      },
      env: weights.env,
      ...spec,
    });
  const loaderMessages = async (name: string) =>
    (await listModelPods(name)).map(
      ({ status }) =>
        status.initContainerStatuses?.find(({ name: container }) => container === 'fetch-weights')?.state
          ?.terminated?.message,
    );

  it('is filled before a pod is wanted', async () => {
    await deploy('cached-a', { replicas: 0 });
    await waitUntil('the prefetch', 180, async () => {
      const job = await findObject<{ status: { succeeded?: number } }>('Job', 'cached-a-prefetch');
      return job?.status.succeeded === 1;
    });
    expect(weights.countDownloads()).to.equal(1);
    expect(await listModelPods('cached-a')).to.deep.equal([]);
  });

  it('lets two pods of one deployment start, and those of another, without a download', async () => {
    await patchModel('cached-a', { replicas: 2 });
    await deploy('cached-b');
    await waitForModel('cached-a');
    await waitForModel('cached-b');
    expect(weights.countDownloads()).to.equal(1);
    for (const message of [...(await loaderMessages('cached-a')), ...(await loaderMessages('cached-b'))])
      expect(message).to.match(/^in the cache: 0\.02 GiB/);
  });

  it('shows the weights to the engine, which cannot change them', async () => {
    const [pod] = await listModelPods('cached-a');
    const run = (script: string) =>
      kubectl('exec', pod!.metadata.name, '-n', 'default', '-c', 'engine', '--', 'sh', '-c', script);
    expect(await run('wc -c < /models/current/model.safetensors')).to.contain(String(20 * 1024 ** 2));
    expect(await run('touch /models/current/evil 2>&1; ls /models/current')).to.not.match(/^evil$/m);
  });
});
