import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { ListOptions } from '../../../../kube/call.ts';
import type { KubeClient } from '../../../../kube/client.ts';
import { silentLog } from '../../../../kube/log.ts';
import { isStub, type KubeObject, objectKey } from '../../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../../kube/resource.ts';
import { createWorkQueue } from '../../../../kube/work-queue.ts';
import { createQueues, keepStores } from '../../../../operator/controllers.ts';
import { CredentialStore } from '../../../../operator/credential/credential-store.ts';
import { BERTH_RESOURCES } from '../../../../operator/framework/berth-resources.ts';
import { createClusterView, trimManagers } from '../../../../operator/framework/cluster-view.ts';
import { ObjectBudget } from '../../../../operator/framework/object-budget.ts';
import { KeyStore } from '../../../../operator/key/key-store.ts';
import { ModelStore } from '../../../../operator/model/model-store.ts';
import { EndpointStore } from '../../../../operator/webhook/endpoint-store.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const COUNT = 4_000;
const NAMESPACE = 'evil';
const MIB = 1024 * 1024;

/** The smallest of each kind that the API server accepts. */
const SMALLEST: Readonly<Record<string, { resource: Resource; fields: (id: number) => object }>> = {
  ModelDeployment: {
    resource: BERTH_RESOURCES.ModelDeployment,
    fields: () => ({ spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' } } }),
  },
  APIKey: {
    resource: BERTH_RESOURCES.APIKey,
    fields: (id) => ({ spec: { sha256: id.toString(16).padStart(64, '0') } }),
  },
  WebhookEndpoint: {
    resource: BERTH_RESOURCES.WebhookEndpoint,
    fields: () => ({ spec: { url: 'https://a.example' } }),
  },
  StorageCredential: {
    resource: BERTH_RESOURCES.StorageCredential,
    fields: () => ({ spec: { bucket: 'media', secret: 's' } }),
  },
  Service: { resource: RESOURCES.Service, fields: () => ({ spec: {} }) },
};

const write = (kind: string, id: number): string => {
  const { resource, fields } = SMALLEST[kind]!;
  const metadata = {
    name: `k${id}`,
    namespace: NAMESPACE,
    uid: crypto.randomUUID(),
    resourceVersion: String(id + 1),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'berth.dev/deployment': `k${id}` },
  };
  return JSON.stringify({ apiVersion: resource.apiVersion, kind, metadata, ...fields(id) });
};

/** Bytes of heap per object of a kind: in caches, stores and queues. */
async function measureHeap(kind: string): Promise<number> {
  const texts = Array.from({ length: COUNT }, (_, id) => Buffer.from(write(kind, id)));
  const client = {
    list: async ({ plural }: Resource, options: ListOptions = {}) => ({
      items:
        plural === SMALLEST[kind]!.resource.plural && !options.labelSelector?.includes('service-name')
          ? texts.map((text) => JSON.parse(text.toString()))
          : [],
      metadata: { resourceVersion: String(COUNT) },
    }),
    watch: async function* () {
      await new Promise(() => {});
    },
  } as unknown as KubeClient;
  const view = createClusterView({
    client,
    namespaces: [],
    front: { namespace: 'berth-system', service: 'berth-front' },
    log: silentLog,
  });
  const stores = {
    models: new ModelStore('example.test', () => true),
    keys: new KeyStore(),
    credentials: new CredentialStore(),
    endpoints: new EndpointStore(),
  };
  const queue = createWorkQueue({ name: 'queue' });
  keepStores(view, stores, { queues: createQueues({}), publisher: { mark: () => {} } });
  for (const watcher of view.all) watcher.onChange((_, object) => queue.add(objectKey(object!)));
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  view.start();
  await view.waitForSync();
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  expect(queue.depth()).to.equal(COUNT);
  for (const store of Object.values(stores))
    for (const key of store.keys(NAMESPACE)) expect(store.get(key), key).to.include({ ok: true });
  void view.stop();
  return bytes / COUNT;
}

/** Bytes of the budget per object. */
function measureBudget(kind: string): number {
  const bytes = 3 * MIB;
  const budget = new ObjectBudget(bytes);
  for (let id = 0; ; id++) {
    const kept = budget.admit(JSON.parse(write(kind, id)) as KubeObject, trimManagers);
    // A single namespace may use two thirds.
    if (!kept || isStub(kept)) return (bytes * 2) / 3 / id;
  }
}

describe('the memory of an operator for very many small objects', function () {
  this.timeout(60_000);
  for (const kind of Object.keys(SMALLEST))
    it(`counts no less than all that it has of each ${kind}`, async () => {
      await measureHeap(kind);
      const heap = await measureHeap(kind);
      expect(measureBudget(kind) / heap).to.be.within(0.95, 4);
    });
});
