import { expect } from 'chai';
import { BUILTIN_TYPES } from '../../../../kube/memory/builtin-types.ts';
import { startGarbageCollector } from '../../../../kube/memory/garbage-collector.ts';
import { MemoryApi } from '../../../../kube/memory/memory-api.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { readLocalTypes, validateObject } from '../../../../launch/local-resources.ts';

const NAMESPACE = 'default';
const config = (name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE, ...more },
});
const model = (name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name, namespace: NAMESPACE },
  spec: { kind: 'LLM', model: { id: name }, engine: { preset: 'simulator' }, ...spec },
});

describe('objects in the memory API server', () => {
  let api: MemoryApi;
  beforeEach(() => {
    api = new MemoryApi({ types: readLocalTypes(), validate: validateObject });
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  });

  it('have the defaults of their definition, and a generation that counts changes of the spec', () => {
    const made = api.create('modeldeployments.berth.dev', model('chat'));
    expect(made.metadata.generation).to.equal(1);
    expect((made.spec as { engine: { port: number } }).engine.port).to.equal(8000);
    const at = { namespace: NAMESPACE, name: 'chat' };
    const labeled = api.patch(
      'modeldeployments.berth.dev',
      at,
      { metadata: { labels: { a: 'b' } } },
      { type: 'merge' },
    );
    expect(labeled.metadata.generation).to.equal(1);
    const paused = api.patch('modeldeployments.berth.dev', at, { spec: { paused: true } }, { type: 'merge' });
    expect(paused.metadata.generation).to.equal(2);
  });

  it('have a status that is written through its subresource alone', () => {
    const at = { namespace: NAMESPACE, name: 'chat' };
    api.create('modeldeployments.berth.dev', { ...model('chat'), status: { phase: 'Ready' } });
    const fresh = { observedGeneration: -1, conditions: [] };
    expect(api.get('modeldeployments.berth.dev', at).status).to.deep.equal(fresh);
    const written = api.patch(
      'modeldeployments.berth.dev',
      at,
      { status: { phase: 'Ready' }, spec: { paused: true } },
      { type: 'merge', subresource: 'status' },
    );
    expect(written.status).to.deep.include({ phase: 'Ready' });
    expect((written.spec as { paused: boolean }).paused).to.equal(false);
  });

  it('lose fields that the definition does not know, or are refused by a strict writer', () => {
    const wrong = model('chat', { replcas: 3 });
    expect(() => api.create('modeldeployments.berth.dev', wrong, { strict: true })).to.throw(
      'unknown field "spec.replcas"',
    );
    expect(api.create('modeldeployments.berth.dev', wrong).spec).not.to.have.property('replcas');
  });

  const REFUSALS: [what: string, object: KubeObject, code: number, words: RegExp][] = [
    ['a field out of range', model('chat', { replicas: -1 }), 422, /spec\.replicas/],
    ['a name in capitals', model('Chat'), 422, /metadata\.name/],
    [
      'a namespace that is not there',
      { ...model('chat'), metadata: { name: 'chat', namespace: 'none' } },
      404,
      /namespaces "none"/,
    ],
    ['another kind than the path', { ...model('chat'), kind: 'APIKey' }, 400, /ModelDeployment/],
  ];
  for (const [what, object, code, words] of REFUSALS)
    it(`are refused with ${what}: ${code}`, () => {
      expect(() => api.create('modeldeployments.berth.dev', object))
        .to.throw(words)
        .with.property('code', code);
    });

  it('are refused where the id changes, or the version is not the latest', () => {
    const made = api.create('modeldeployments.berth.dev', model('chat', { id: 5 }));
    const at = { namespace: NAMESPACE, name: 'chat' };
    expect(() =>
      api.patch('modeldeployments.berth.dev', at, { spec: { id: 6 } }, { type: 'merge' }),
    ).to.throw(/id is immutable/);
    api.patch('modeldeployments.berth.dev', at, { spec: { paused: true } }, { type: 'merge' });
    expect(() => api.update('modeldeployments.berth.dev', made)).to.throw(/has been modified/);
  });

  it('stay until their last finalizer is removed', () => {
    api.create('configmaps', config('kept', { finalizers: ['example.test/a'] }));
    const at = { namespace: NAMESPACE, name: 'kept' };
    api.delete('configmaps', at);
    expect(api.get('configmaps', at).metadata.deletionTimestamp).to.be.a('string');
    api.patch('configmaps', at, { metadata: { finalizers: null } }, { type: 'merge' });
    expect(api.find('configmaps', at)).to.equal(undefined);
  });

  it('go with their owner, and with their namespace', async () => {
    const stop = startGarbageCollector(api);
    const owner = api.create('configmaps', config('owner'));
    const { apiVersion, kind, metadata } = owner;
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid! }];
    api.create('configmaps', config('child', { ownerReferences }));
    api.create('configmaps', config('other'));
    api.delete('configmaps', { namespace: NAMESPACE, name: 'owner' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(api.list('configmaps').map((each) => each.metadata.name)).to.deep.equal(['other']);
    api.delete('namespaces', { name: NAMESPACE });
    await new Promise((resolve) => setImmediate(resolve));
    expect(api.list('configmaps')).to.deep.equal([]);
    stop();
  });

  it('leave their children behind, without an owner, where they are orphaned', async () => {
    const stop = startGarbageCollector(api);
    const [owner, keeper] = ['owner', 'keeper'].map((name) => api.create('configmaps', config(name)));
    const refer = ({ apiVersion, kind, metadata }: KubeObject) => ({
      ...{ apiVersion, kind, name: metadata.name, uid: metadata.uid! },
    });
    const ownerReferences = [refer(owner!), refer(keeper!)];
    api.create('configmaps', config('child', { ownerReferences }));
    const at = { namespace: NAMESPACE, name: 'owner' };
    api.delete('configmaps', at, { propagation: 'Orphan', dryRun: true });
    expect(api.get('configmaps', { ...at, name: 'child' }).metadata.ownerReferences).to.have.length(2);
    api.delete('configmaps', at, { propagation: 'Orphan' });
    api.delete('configmaps', { ...at, name: 'keeper' }, { propagation: 'Orphan' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(api.list('configmaps').map(({ metadata }) => metadata.name)).to.deep.equal(['child']);
    expect(api.get('configmaps', { ...at, name: 'child' }).metadata).not.to.have.property('ownerReferences');
    stop();
  });

  it('that are pods of a node stay until the node has ended them', () => {
    const at = { namespace: NAMESPACE, name: 'one' };
    const spec = { nodeName: 'local', terminationGracePeriodSeconds: 5, containers: [{ name: 'one' }] };
    api.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: at, spec });
    expect(api.delete('pods', at)?.metadata.deletionGracePeriodSeconds).to.equal(5);
    api.delete('pods', at, { graceSeconds: 0 });
    expect(api.find('pods', at)).to.equal(undefined);
  });

  it('that have no containers to run are refused', () => {
    const metadata = { namespace: NAMESPACE, name: 'one' };
    for (const spec of [undefined, {}, { containers: [] }, { containers: [{}] }]) {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, ...(spec ? { spec } : {}) };
      expect(() => api.create('pods', pod)).to.throw('spec.containers');
      const deployment = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: { template: { spec } },
      };
      expect(() => api.create('deployments.apps', deployment)).to.throw('spec.template.spec.containers');
    }
    expect(() =>
      api.create('deployments.apps', { apiVersion: 'apps/v1', kind: 'Deployment', metadata }),
    ).to.throw('spec.template.spec.containers');
  });

  it('that are events are shown by both groups', () => {
    const regarding = { kind: 'ModelDeployment', name: 'chat', namespace: NAMESPACE };
    api.create('events.events.k8s.io', {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'chat.1', namespace: NAMESPACE },
      regarding,
      note: 'it serves',
      reason: 'Ready',
      eventTime: '2026-01-01T00:00:00.000000Z',
    });
    const [event] = api.list('events', NAMESPACE);
    expect(event).to.deep.include({
      apiVersion: 'v1',
      involvedObject: regarding,
      message: 'it serves',
      count: 1,
    });
  });

  it('are sent in the order of their versions, as far back as they are remembered', () => {
    const { version } = api.store;
    api.create('configmaps', config('a'));
    api.delete('configmaps', { namespace: NAMESPACE, name: 'a' });
    expect(api.store.since(version)!.map(({ type }) => type)).to.deep.equal(['ADDED', 'DELETED']);
    for (let count = 0; count < 5_001; count++)
      api.patch(
        'configmaps',
        { namespace: NAMESPACE, name: 'a' },
        { data: { count: String(count) } },
        { type: 'apply', manager: 'm' },
      );
    expect(api.store.since(version)).to.equal(undefined);
  });

  it('of every built-in kind have a name of their own', () => {
    const keys = BUILTIN_TYPES.map(({ group, plural }) => `${plural}.${group}`);
    expect(new Set(keys).size).to.equal(keys.length);
  });
});
