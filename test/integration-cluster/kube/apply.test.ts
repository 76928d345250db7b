import { expect } from 'chai';
import { createApplier, NotOwnedError } from '../../../kube/apply.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { createWatcher, type Watcher } from '../../../kube/watcher.ts';
import { pollUntil } from '../../support/poll.ts';

import { type CountingClient, configMap, useApi } from './api.ts';

const { ConfigMap, Deployment, Service, NetworkPolicy } = RESOURCES;
const HASH = 'example.dev/applied';

/** As a builder would write it: quantities as numbers, defaults left out, lists of every kind. */
const deployment = (namespace: string, image = 'engine:1'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'child', namespace, labels: { app: 'child' }, annotations: { note: 'x' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'child' } },
    template: {
      metadata: { labels: { app: 'child' } },
      spec: {
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
        volumes: [{ name: 'scratch', emptyDir: {} }],
        initContainers: [{ name: 'gateway', image: 'gateway:1', restartPolicy: 'Always', args: [] }],
        containers: [
          {
            name: 'engine',
            image,
            ports: [{ containerPort: 8080 }, { containerPort: 9090, name: 'metrics' }],
            env: [
              { name: 'A', value: '1' },
              { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            ],
            resources: { requests: { cpu: 0.5, memory: '1024Mi' }, limits: { 'nvidia.com/gpu': 1 } },
            volumeMounts: [{ name: 'scratch', mountPath: '/tmp' }],
            readinessProbe: { httpGet: { path: '/', port: 8080 } },
          },
        ],
      },
    },
  },
});

const service = (namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'child', namespace },
  spec: { selector: { app: 'child', tier: 'x' }, ports: [{ port: 80, targetPort: 8080, name: 'http' }] },
});

const policy = (namespace: string): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'child', namespace },
  spec: {
    podSelector: { matchLabels: { app: 'child' } },
    policyTypes: ['Ingress'],
    ingress: [{ ports: [{ port: 8080 }] }],
  },
});

describe('Applying owned objects', () => {
  const api = useApi();
  let client: CountingClient;
  let other: CountingClient;
  let namespace: string;
  let owner: KubeObject;
  let watchers: Watcher[];

  beforeEach(async () => {
    namespace = await api.makeNamespace();
    client = api.connect();
    other = api.connect();
    owner = await other.create(ConfigMap, configMap(namespace, 'owner'));
    watchers = [Deployment, Service, NetworkPolicy].map((resource) =>
      createWatcher({ client: api.connect(), resource, namespaces: [namespace] }),
    );
    for (const watcher of watchers) watcher.start();
    await Promise.all(watchers.map((watcher) => watcher.waitForSync()));
  });
  afterEach(() => Promise.all(watchers.map((watcher) => watcher.stop())));

  const makeApplier = () =>
    createApplier({
      client,
      fieldManager: 'test',
      hashAnnotation: HASH,
      resources: watchers.map((watcher) => ({ resource: watcher.resource, cache: watcher })),
    });
  const wanted = () => [deployment(namespace), service(namespace), policy(namespace)];
  const cached = () => watchers.map((watcher) => watcher.get(`${namespace}/child`));
  const outcomes = async (applier: ReturnType<typeof makeApplier>, objects: KubeObject[]) =>
    (await applier.applyAll(objects, owner)).map(({ outcome }) => outcome);
  const untilCached = (what: string, isMet: () => boolean) => pollUntil(isMet, what, 5_000);
  const livePod = () =>
    (cached()[0] as { spec?: { template: { spec: { containers: Record<string, unknown>[] } } } }).spec
      ?.template.spec.containers[0];

  it('creates what is missing, with the owner as its controller', async () => {
    expect(await outcomes(makeApplier(), wanted())).to.deep.equal(['created', 'created', 'created']);
    // Nothing is read: the guard of the write finds what exists.
    expect([client.calls.length, client.count('apply')]).to.deep.equal([3, 3]);
    const live = await other.get(Service, { namespace, name: 'child' });
    expect(live.metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('sends nothing where everything is as wanted, also before the cache has caught up', async () => {
    const applier = makeApplier();
    await applier.applyAll(wanted(), owner);
    await untilCached('the children', () => cached().every(Boolean));
    client.calls.length = 0;
    for (let i = 0; i < 3; i++)
      expect(await outcomes(applier, wanted())).to.deep.equal(['unchanged', 'unchanged', 'unchanged']);
    expect(client.calls).to.deep.equal([]);

    await applier.applyAll([deployment(namespace, 'engine:2')], owner);
    expect(client.count('apply')).to.equal(1);
    await applier.apply(deployment(namespace, 'engine:2'), owner);
    expect(client.count('apply')).to.equal(1);
  });

  it('sends nothing after a restart of the operator either', async () => {
    await makeApplier().applyAll(wanted(), owner);
    await untilCached('the children', () => cached().every(Boolean));
    client.calls.length = 0;
    expect(await outcomes(makeApplier(), wanted())).to.deep.equal(['unchanged', 'unchanged', 'unchanged']);
    expect(client.calls).to.deep.equal([]);
  });

  it('leaves alone what others add and own', async () => {
    await makeApplier().applyAll(wanted(), owner);
    const patch = {
      metadata: { annotations: { 'deployment.kubernetes.io/revision': '1' } },
      status: { replicas: 1 },
    };
    await other.mergePatch(Deployment, { at: { namespace, name: 'child' }, patch });
    await untilCached(
      'the annotation',
      () => 'deployment.kubernetes.io/revision' in (cached()[0]?.metadata.annotations ?? {}),
    );
    client.calls.length = 0;
    await makeApplier().applyAll(wanted(), owner);
    expect(client.calls).to.deep.equal([]);
  });

  const drifts: [string, number, object, (live: KubeObject) => unknown, unknown][] = [
    ['a number', 0, { spec: { replicas: 5 } }, (live) => (live.spec as { replicas: number }).replicas, 1],
    ['a label', 0, { metadata: { labels: { app: 'other' } } }, (live) => live.metadata.labels?.app, 'child'],
    [
      'a removed annotation',
      0,
      { metadata: { annotations: { note: null } } },
      (live) => live.metadata.annotations?.note,
      'x',
    ],
    [
      'a key added to an atomic map',
      1,
      { spec: { selector: { extra: 'y' } } },
      (live) => (live.spec as { selector: unknown }).selector,
      { app: 'child', tier: 'x' },
    ],
    [
      'an atomic list',
      2,
      { spec: { ingress: [] } },
      (live) => ((live.spec as { ingress?: unknown[] }).ingress ?? []).length,
      1,
    ],
  ];
  for (const [what, index, patch, read, expected] of drifts)
    it(`repairs a drift of ${what}`, async () => {
      const applier = makeApplier();
      await applier.applyAll(wanted(), owner);
      const { resource } = watchers[index]!;
      const drifted = await other.mergePatch(resource, { at: { namespace, name: 'child' }, patch });
      expect(read(drifted)).to.not.deep.equal(expected);
      await untilCached(
        'the drift',
        () => cached()[index]?.metadata.resourceVersion === drifted.metadata.resourceVersion,
      );
      const changes = await outcomes(applier, wanted());
      expect(changes).to.deep.equal(wanted().map((_, i) => (i === index ? 'updated' : 'unchanged')));
      expect(read(await other.get(resource, { namespace, name: 'child' }))).to.deep.equal(expected);
    });

  it('removes the fields that it no longer wants, and only those', async () => {
    const applier = makeApplier();
    await applier.apply(deployment(namespace), owner);
    await other.mergePatch(Deployment, {
      at: { namespace, name: 'child' },
      patch: { metadata: { labels: { foreign: 'stays' } } },
    });
    const slim = deployment(namespace);
    slim.metadata = { name: 'child', namespace };
    const containers = (slim.spec as { template: { spec: { containers: { env?: unknown }[] } } }).template
      .spec.containers;
    delete containers[0]!.env;
    expect((await applier.apply(slim, owner)).outcome).to.equal('updated');
    await untilCached('the removal', () => livePod() !== undefined && !('env' in livePod()!));
    expect(cached()[0]!.metadata.labels).to.deep.equal({ foreign: 'stays' });
  });

  it('refuses an object that somebody else made, or another owner controls', async () => {
    await other.create(Service, service(namespace));
    await untilCached('the foreign service', () => cached()[1] !== undefined);
    const refused = await makeApplier()
      .apply(service(namespace), owner)
      .catch((error) => error);
    expect(refused).to.be.instanceOf(NotOwnedError);
    expect(refused.message).to.equal(
      `Service ${namespace}/child has no controller, but ConfigMap owner needs this name: rename or delete it`,
    );
    const second = await other.create(ConfigMap, configMap(namespace, 'second'));
    await makeApplier().apply(policy(namespace), second);
    await untilCached('the other policy', () => cached()[2] !== undefined);
    const taken = await makeApplier()
      .apply(policy(namespace), owner)
      .catch((error) => error);
    expect(taken.message).to.contain('is controlled by ConfigMap second');
    expect(client.count('apply')).to.equal(1);
  });

  it('refuses and leaves alone what somebody else just made, before the cache shows it', async () => {
    const foreign = await other.create(Service, service(namespace));
    const cache = { get: () => undefined } as unknown as Watcher;
    const applier = createApplier({
      client,
      fieldManager: 'test',
      hashAnnotation: HASH,
      resources: [{ resource: Service, cache }],
    });
    const refused = await applier.apply(service(namespace), owner).catch((error) => error);
    expect(refused).to.be.instanceOf(NotOwnedError);
    expect(await other.get(Service, { namespace, name: 'child' })).to.deep.equal(foreign);
  });

  it('deletes the children that are no longer wanted, and nobody else’s', async () => {
    const second = await other.create(ConfigMap, configMap(namespace, 'second'));
    const applier = makeApplier();
    await applier.applyAll(wanted(), owner);
    await applier.apply({ ...service(namespace), metadata: { name: 'foreign', namespace } }, second);
    await untilCached('the children', () => cached().every(Boolean) && watchers[1]!.size === 2);
    const changes = await applier.removeOthers([deployment(namespace)], owner);
    expect(changes.map(({ outcome, object }) => `${outcome} ${object.kind}`)).to.deep.equal([
      'deleted Service',
      'deleted NetworkPolicy',
    ]);
    await untilCached('the deletions', () => watchers[1]!.size === 1 && watchers[2]!.size === 0);
  });

  it('makes a child again that was deleted', async () => {
    const applier = makeApplier();
    await applier.applyAll(wanted(), owner);
    await other.delete(Service, { namespace, name: 'child' });
    await untilCached('the deletion', () => cached()[1] === undefined);
    expect(await outcomes(applier, wanted())).to.deep.equal(['unchanged', 'created', 'unchanged']);
  });
});
