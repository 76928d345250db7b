/** A model's files at a hub of the test, and a claim on a volume that pods of every node can mount. */
import { randomBytes } from 'node:crypto';
import { startModelHub } from '../support/model-hub.ts';
import { apply, cluster, kubectl } from './installation.ts';

const WEIGHTS = 'model.safetensors';

export interface SharedWeights {
  /** Source of a deployment's model. */
  source: object;
  /** Variables of its engine, which finds the hub by them. */
  env: Record<string, string>;
  countDownloads(): number;
  remove(): Promise<void>;
}

export async function startSharedWeights(repository: string, claim: string): Promise<SharedWeights> {
  const hub = await startModelHub(repository, cluster.nodeIP);
  hub.files.set('config.json', Buffer.from('{}'));
  hub.files.set(WEIGHTS, randomBytes(20 * 1024 ** 2));
  await apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claim, namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteMany'],
      storageClassName: 'local',
      resources: { requests: { storage: '1Gi' } },
    },
  });
  return {
    source: { huggingFace: { repo: repository }, cache: { claimName: claim, limit: '1Gi' } },
    env: { HF_ENDPOINT: hub.url },
    countDownloads: () => hub.downloads.filter(({ path }) => path === WEIGHTS).length,
    remove: async () => {
      await kubectl('delete', 'pvc', claim, '-n', 'default', '--ignore-not-found', '--wait=false');
      await hub.stop();
    },
  };
}
