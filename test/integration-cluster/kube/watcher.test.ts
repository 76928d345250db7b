import { expect } from 'chai';
import { createController, watchOf } from '../../../kube/controller.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { createWatcher, type Watcher, type WatcherOptions } from '../../../kube/watcher.ts';
import { createWorkQueue } from '../../../kube/work-queue.ts';
import { pollUntil } from '../../support/poll.ts';

import { type CountingClient, configMap, useApi } from './api.ts';
import { FaultProxy } from './fault-proxy.ts';

const { ConfigMap } = RESOURCES;
const BACKOFF = { baseMs: 50, maxMs: 1_000 };

describe('A watcher on a real API server', () => {
  const api = useApi();
  let namespace: string;
  let watcher: Watcher | undefined;
  let proxy: FaultProxy | undefined;

  beforeEach(async () => {
    namespace = await api.makeNamespace();
  });
  afterEach(async () => {
    await watcher?.stop();
    await proxy?.close();
    watcher = proxy = undefined;
  });

  async function watch(client: CountingClient, options: Partial<WatcherOptions<KubeObject>> = {}) {
    const created = createWatcher({
      client,
      resource: ConfigMap,
      namespaces: [namespace],
      timing: { backoff: BACKOFF },
      ...options,
    });
    watcher = created;
    created.start();
    await created.waitForSync(AbortSignal.timeout(20_000));
    expect(created.hasSynced()).to.equal(true);
    return created;
  }

  const create = (name: string) => api.connect().create(ConfigMap, configMap(namespace, name));
  const sees = (name: string) => () => watcher!.get(`${namespace}/${name}`) !== undefined;

  it('lists 1,200 objects by pages of 100 and follows what comes after', async () => {
    const writer = api.connect();
    const names = Array.from({ length: 1_200 }, (_, i) => `item-${i}`);
    await Promise.all(names.map((name) => writer.create(ConfigMap, configMap(namespace, name))));
    const client = api.connect();
    const all = await watch(client, { pageSize: 100 });
    expect(all.size).to.equal(1_200);
    expect(client.count('list')).to.equal(12);
    expect(all.get(`${namespace}/item-7`)).to.include({ apiVersion: 'v1', kind: 'ConfigMap' });

    await create('later');
    await pollUntil(sees('later'), 'the later object', 60_000);
    await writer.delete(ConfigMap, { namespace, name: 'item-0' });
    await pollUntil(() => all.size === 1_200 && !sees('item-0')(), 'the deletion', 60_000);
    expect(client.count('list')).to.equal(12);
  });

  it('keeps what it knows while the API server is killed, and catches up when it is back', async () => {
    await create('before');
    const client = api.connect();
    await watch(client);
    await api.controlPlane.stop();
    await pollUntil(() => watcher!.failures() > 0, 'the loss to be noticed', 60_000);
    expect(sees('before')()).to.equal(true);
    await api.controlPlane.start();
    await create('after');
    await pollUntil(sees('after'), 'the object made after the restart', 60_000);
    // One more where the API server's own cache no longer reaches back to before.
    expect(client.count('list')).to.be.at.most(2);
  });

  it('opens a watch again whose connection was reset', async () => {
    proxy = await FaultProxy.start(api.controlPlane.url);
    await watch(api.connect({ server: proxy.url }));
    await pollUntil(() => proxy!.open > 0, 'an open watch', 60_000);
    for (const name of ['one', 'two', 'three']) {
      proxy.reset();
      await create(name);
      await pollUntil(sees(name), `the object ${name}`, 10_000);
    }
  });

  it('opens a watch again that has gone silent', async () => {
    proxy = await FaultProxy.start(api.controlPlane.url);
    const client = api.connect({ server: proxy.url });
    await watch(client, { timing: { backoff: BACKOFF, staleMs: 1_000 } });
    await pollUntil(() => client.count('watch') === 1, 'an open watch', 60_000);
    proxy.silence();
    await create('unheard');
    await pollUntil(sees('unheard'), 'the object of the silent time', 60_000);
    expect(watcher!.missed()).to.equal(0);
  });

  it('finds by a relist what a silent watch missed, and counts it', async () => {
    await create('doomed');
    proxy = await FaultProxy.start(api.controlPlane.url);
    const client = api.connect({ server: proxy.url });
    await watch(client, { timing: { backoff: BACKOFF, settleMs: 200 } });
    await pollUntil(() => client.count('watch') === 1, 'an open watch', 60_000);
    proxy.silence(proxy.accepted);
    await create('missed');
    await api.connect().delete(ConfigMap, { namespace, name: 'doomed' });
    const seen: string[] = [];
    watcher!.onChange((old, current) => seen.push(`${old?.metadata.name} → ${current?.metadata.name}`));

    await watcher!.resync();
    expect(watcher!.missed()).to.equal(2);
    expect(seen).to.have.members(['undefined → missed', 'doomed → undefined']);
    await create('after');
    await pollUntil(sees('after'), 'the object made after the relist', 60_000);
  });

  it('counts nothing as missed that changes while the relist runs', async () => {
    const client = api.connect();
    await watch(client, { timing: { backoff: BACKOFF, settleMs: 200 } });
    const writer = api.connect();
    const churn = Array.from({ length: 300 }, async (_, i) => {
      await writer.create(ConfigMap, configMap(namespace, `churn-${i}`));
      if (i % 2) await writer.delete(ConfigMap, { namespace, name: `churn-${i}` });
    });
    for (let i = 0; i < 5; i++) await watcher!.resync();
    await Promise.all(churn);
    await pollUntil(
      () => watcher!.list().filter((o) => o.metadata.name.startsWith('churn')).length === 150,
      'the end of the churn',
      60_000,
    );
    expect(watcher!.missed()).to.equal(0);
  });

  it('uses its connections again and leaves none open when stopped', async () => {
    proxy = await FaultProxy.start(api.controlPlane.url);
    const client = api.connect({ server: proxy.url });
    await watch(client);
    await pollUntil(() => client.count('watch') === 1, 'an open watch', 60_000);
    for (let i = 0; i < 5; i++) await watcher!.resync();
    expect(proxy.accepted).to.be.at.most(3);
    await watcher!.stop();
    await client.close();
    await pollUntil(() => proxy!.open === 0, 'the connections to close', 60_000);
  });

  it('watches several namespaces into one cache', async () => {
    const other = await api.makeNamespace();
    const unwatched = await api.makeNamespace();
    await create('here');
    const all = await watch(api.connect(), { namespaces: [namespace, other] });
    await api.connect().create(ConfigMap, configMap(unwatched, 'elsewhere'));
    await api.connect().create(ConfigMap, configMap(other, 'there'));
    await pollUntil(() => all.size === 2, 'the object of the other namespace', 60_000);
    expect(all.list().map(({ metadata }) => metadata.name)).to.have.members(['here', 'there']);
  });

  it('watches 120 namespaces over two connections, and opens all again when those break', async () => {
    await create('here');
    proxy = await FaultProxy.start(api.controlPlane.url);
    const client = api.connect({ server: proxy.url, maxConnections: 1 });
    const others = Array.from({ length: 119 }, (_, index) => `unborn-${index}`);
    const all = await watch(client, { namespaces: [namespace, ...others] });
    await pollUntil(() => client.count('watch') === 120, 'all watches to be open', 60_000);
    // Two for the watches, one for the calls.
    expect(proxy.open).to.be.at.most(3);
    proxy.reset();
    await pollUntil(() => client.count('watch') >= 240, 'all watches to be open again', 60_000);
    await create('later');
    await pollUntil(() => all.size === 2, 'the later object', 60_000);
    expect(proxy.open).to.be.at.most(3);
  });

  it('drives a controller that reconciles each object, and again after every change', async () => {
    await create('first');
    const objects = await watch(api.connect());
    const reconciled: string[] = [];
    const controller = createController({
      name: 'test',
      queue: createWorkQueue({ name: 'test' }),
      watches: [watchOf({ watcher: objects, mapToKeys: ({ metadata }) => [metadata.name] })],
      reconcile: async (key) => {
        reconciled.push(key);
        return undefined;
      },
    });
    await controller.start();
    await pollUntil(() => reconciled.includes('first'), 'the first reconcile', 60_000);
    await create('second');
    await pollUntil(() => reconciled.includes('second'), 'the second reconcile', 60_000);
    await controller.stop();
    await create('third');
    await pollUntil(sees('third'), 'the third object', 60_000);
    expect(reconciled).to.deep.equal(['first', 'second']);
  });
});
