import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type ModelHub, startModelHub } from '../support/model-hub.ts';
import {
  apply,
  cluster,
  deploySimulator,
  findObject,
  kubectl,
  listModelPods,
  patchModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';

const REPOSITORY = 'e2e/model';
const CLAIM = 'e2e-models';

describe('a cache of weights that deployments share', function () {
  this.timeout(600_000);
  let hub: ModelHub;
  before(async () => {
    hub = await startModelHub(REPOSITORY, cluster.nodeIP);
    hub.files.set('config.json', Buffer.from('{}'));
    hub.files.set('model.safetensors', randomBytes(20 * 1024 ** 2));
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: CLAIM, namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteMany'],
        storageClassName: 'local',
        resources: { requests: { storage: '1Gi' } },
      },
    });
  });
  after(async () => {
    await Promise.all(['cached-a', 'cached-b'].map(removeModel));
    await kubectl('delete', 'pvc', CLAIM, '-n', 'default', '--ignore-not-found', '--wait=false');
    await hub?.stop();
  });

  const deploy = (name: string, spec: object = {}) =>
    deploySimulator(name, {
      model: {
        id: `e2e/${name}`,
        source: { huggingFace: { repo: REPOSITORY }, cache: { claimName: CLAIM, limit: '1Gi' } },
      },
      env: { HF_ENDPOINT: hub.url },
      ...spec,
    });
  const largeDownloads = () => hub.downloads.filter(({ path }) => path === 'model.safetensors').length;
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
    expect(largeDownloads()).to.equal(1);
    expect(await listModelPods('cached-a')).to.deep.equal([]);
  });

  it('lets two pods of one deployment start, and those of another, without a download', async () => {
    await patchModel('cached-a', { replicas: 2 });
    await deploy('cached-b');
    await waitForModel('cached-a');
    await waitForModel('cached-b');
    expect(largeDownloads()).to.equal(1);
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
