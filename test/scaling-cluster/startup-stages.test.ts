/** Where the time of a start goes, with weights that are downloaded, and with weights that are there. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { ModelStartup } from '../../api/model-startup.ts';
import {
  apply,
  cluster,
  deploySimulator,
  kubectl,
  listModelPods,
  patchModel,
  readModel,
  removeModel,
  waitUntil,
} from '../e2e/installation.ts';
import { type ModelHub, startModelHub } from '../support/model-hub.ts';
import { say } from './figures.ts';

const REPOSITORY = 'e2e/weights';
const CLAIM = 'startup-models';
const WEIGHTS_BYTES = 256 * 1024 ** 2;
const STARTUP_SECONDS = 10;
const ROUNDS = 3;

describe('the stages of a start, on a cluster', function () {
  this.timeout(3_600_000);
  const name = 'staged';
  let hub: ModelHub;
  before(async () => {
    hub = await startModelHub(REPOSITORY, cluster.nodeIP);
    hub.files.set('config.json', Buffer.from('{}'));
    hub.files.set('model.safetensors', randomBytes(WEIGHTS_BYTES));
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: CLAIM, namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteMany'],
        storageClassName: 'local',
        resources: { requests: { storage: '2Gi' } },
      },
    });
  });
  after(async () => {
    await removeModel(name);
    await kubectl('delete', 'pvc', CLAIM, '-n', 'default', '--ignore-not-found', '--wait=false');
    await hub?.stop();
  });

  /** The start of a replica where there is none. */
  const start = async (): Promise<ModelStartup> => {
    const before = (await readModel(name)).status?.startup?.pod;
    await patchModel(name, { replicas: 1 });
    let startup: ModelStartup | undefined;
    await waitUntil('the end of the start', 600, async () => {
      startup = (await readModel(name)).status?.startup;
      return startup?.took !== undefined && startup.pod !== before;
    });
    await patchModel(name, { replicas: 0 });
    await waitUntil('no pod', 300, async () => (await listModelPods(name)).length === 0);
    return startup!;
  };
  const countDownloads = () => hub.downloads.filter(({ path }) => path === 'model.safetensors').length;

  it('are told, and that of the weights is short where the cache has them', async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      // Another revision is another entry of the cache.
      const huggingFace = { repo: REPOSITORY, revision: `round-${round}` };
      const cache = { claimName: CLAIM, limit: '2Gi', prefetch: false };
      await deploySimulator(name, {
        model: { id: `e2e/${name}`, source: { huggingFace, cache } },
        env: { HF_ENDPOINT: hub.url, SIMULATOR_STARTUP_SECONDS: String(STARTUP_SECONDS) },
        replicas: 0,
      });
      for (const [title, downloads] of [
        ['cold', 1],
        ['warm', 0],
      ] as const) {
        const before = countDownloads();
        const { stages, took } = await start();
        say(`${title}: ${stages.map(({ stage, took }) => `${stage} ${took}`).join(', ')}; ${took} in all`);
        expect(stages.map(({ stage }) => stage)).to.deep.equal([
          'Scheduled',
          'Prepared',
          'WeightsLoaded',
          'EngineStarted',
          'Ready',
        ]);
        expect(countDownloads() - before).to.equal(downloads);
      }
    }
  });
});
