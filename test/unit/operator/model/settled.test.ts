import { expect } from 'chai';
import type { ModelDeployment } from '../../../../api/model-deployment.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { type Indexes, WritableCache } from '../../../../kube/object-cache.ts';
import { BY_MODEL, modelKeyOf } from '../../../../operator/framework/cluster-view.ts';
import { type BuiltFacts, describeInputs, SettledModels } from '../../../../operator/model/settled.ts';
import { frontRouteName } from '../../../../operator/resources/route.ts';

type Sources = Parameters<typeof describeInputs>[0];

const HOUR = 3_600_000;
const indexes: Indexes<KubeObject> = { [BY_MODEL]: modelKeyOf };

function object(kind: string, name: string, version = 1): KubeObject {
  const labels = { 'berth.dev/deployment': 'chat' };
  const metadata = {
    name,
    namespace: 'team',
    uid: `${kind}-${name}`,
    resourceVersion: String(version),
    labels,
  };
  return { apiVersion: 'v1', kind, metadata };
}

/** Makes the sources of a deployment with one object of each kind. */
function makeSources() {
  const caches = ['Deployment', 'Service', 'EndpointSlice', 'Pod', 'Ingress', 'StorageCredential'].map(
    (kind) => {
      const cache = new WritableCache<KubeObject>(indexes);
      cache.put(object(kind, kind === 'StorageCredential' ? 'bucket' : 'chat'));
      return [kind, cache] as const;
    },
  );
  const byKind = Object.fromEntries(caches);
  const frontIngresses = new WritableCache<KubeObject>();
  const granted: { revision?: string } = {};
  const owners = { host: 'team/chat', id: 'team/chat', published: 'chat.example.test' };
  const authority = { text: 'PEM' };
  const fit = { status: 'True', reason: 'Fits', message: '' };
  const live = object('ModelDeployment', 'chat');
  const model = {
    ...live,
    spec: { storage: { credential: 'bucket' }, id: 7 },
  } as unknown as ModelDeployment;
  const sources = {
    view: {
      children: [byKind.Deployment, byKind.Service, byKind.EndpointSlice],
      slices: byKind.EndpointSlice,
      pods: byKind.Pod,
      credentials: byKind.StorageCredential,
      frontIngresses,
    },
    models: {
      hostOf: () => 'chat.example.test',
      hostOwner: () => owners.host,
      idOwner: () => owners.id,
      servedBy: () => [],
      entriesOf: () => [],
    },
    publisher: { publishedHost: () => owners.published },
    sidecars: { grantOf: () => granted },
    fits: { evaluate: () => fit },
    settings: { namespace: 'berth-system', readRedisCA: () => authority.text },
  } as unknown as Sources;
  return {
    sources,
    byKind: byKind as Record<string, WritableCache<KubeObject>>,
    frontIngresses,
    granted,
    owners,
    authority,
    fit,
    live,
    model,
  };
}

describe('The inputs from which a deployment was reconciled', () => {
  type Made = ReturnType<typeof makeSources>;
  const changes: [string, (made: Made) => void][] = [
    ['its status', ({ live }) => (live.metadata.resourceVersion = '2')],
    ['another spec', ({ live }) => (live.metadata.generation = 2)],
    ['another label', ({ live }) => (live.metadata.labels = { team: 'b' })],
    ['a child that somebody changed', ({ byKind }) => byKind.Service!.put(object('Service', 'chat', 2))],
    ['a child that somebody deleted', ({ byKind }) => byKind.Deployment!.remove('team/chat')],
    ['a child too many', ({ byKind }) => byKind.Service!.put(object('Service', 'stray'))],
    ['a child that was made again', ({ byKind }) => byKind.Service!.put(remade(object('Service', 'chat')))],
    ['a pod', ({ byKind }) => byKind.Pod!.put(object('Pod', 'chat', 2))],
    ['another pod', ({ byKind }) => byKind.Pod!.put(object('Pod', 'chat-2'))],
    [
      'the credential that it stores with',
      ({ byKind }) => byKind.StorageCredential!.put(object('StorageCredential', 'bucket', 2)),
    ],
    ["its route in Berth's namespace", ({ frontIngresses }) => frontIngresses.put(frontRoute())],
    ['the owner of its host', ({ owners }) => (owners.host = 'other/chat')],
    ['the owner of its id', ({ owners }) => (owners.id = 'other/chat')],
    ['a sidecar that it may take', ({ granted }) => (granted.revision = 'b')],
    ["the authority of Redis' certificate", ({ authority }) => (authority.text = 'rotated PEM')],
    ['what is known of whether it fits', ({ fit }) => (fit.status = 'False')],
    ['the host that is published', ({ owners }) => (owners.published = 'old.example.test')],
  ];
  for (const [what, change] of changes)
    it(`is another with ${what}`, () => {
      const made = makeSources();
      const before = describeInputs(made.sources, made.live, made.model);
      expect(describeInputs(made.sources, made.live, made.model)).to.deep.equal(before);
      change(made);
      expect(describeInputs(made.sources, made.live, made.model)).to.not.deep.equal(before);
    });

  for (const [what, change] of [
    ['its status', ({ live }) => (live.metadata.resourceVersion = '2')],
    ['what is known of whether it fits', ({ fit }) => (fit.status = 'False')],
    ['the host that is published', ({ owners }) => (owners.published = 'old.example.test')],
  ] as [string, (made: Made) => void][])
    it(`says nothing of children with a change of ${what}`, () => {
      const made = makeSources();
      const before = describeInputs(made.sources, made.live, made.model);
      change(made);
      expect(describeInputs(made.sources, made.live, made.model).objects).to.equal(before.objects);
    });

  it('does not depend on its front slices, which are compared each time', () => {
    const { sources, byKind, live, model } = makeSources();
    const before = describeInputs(sources, live, model);
    byKind.EndpointSlice!.put(object('EndpointSlice', 'chat', 2));
    expect(describeInputs(sources, live, model)).to.deep.equal(before);
  });
});

describe('A settled deployment', () => {
  it('is found by its inputs, and reconciled again after an hour in any case', () => {
    const settled = new SettledModels();
    const built = {} as BuiltFacts;
    const entry = {
      inputs: { objects: 'a', verdicts: '' },
      fronting: 'Standby',
      built,
      isReported: true,
      at: 0,
    } as const;
    const find = (objects: string, now: number, verdicts = '') =>
      settled.find('team/chat', { objects, verdicts }, now);
    settled.note('team/chat', entry);
    expect(find('a', HOUR - 1)).to.equal(entry);
    expect(find('a', 1, 'another host'), 'its children are as they were').to.equal(entry);
    expect(find('b', 1)).to.equal(undefined);
    expect(find('a', HOUR)).to.equal(undefined);
    settled.delete('team/chat');
    expect(find('a', 1)).to.equal(undefined);
  });
});

const remade = (made: KubeObject): KubeObject => ({
  ...made,
  metadata: { ...made.metadata, uid: 'another' },
});

function frontRoute(): KubeObject {
  const route = object('Ingress', frontRouteName('team', 'chat'));
  return { ...route, metadata: { ...route.metadata, namespace: 'berth-system' } };
}
