import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { Children } from '../../../../operator/model/children.ts';
import { build, makeModel } from '../resources/fixtures.ts';

const DENIED =
  'admission webhook "vdeployment.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: field is immutable';
const CALL = 'apply deployments team-a/qwen';

/** Applies a deployment whose Deployment has one replica, and whose `call` is refused with `code`; `adopts`: before its pods. */
async function apply(
  code: number,
  spec: object,
  { call = CALL, message = DENIED, isStub = false, refusesScale = false, adopts = false } = {},
) {
  const model = makeModel(spec);
  const patches: object[] = [];
  const kinds: string[] = [];
  const owner = { controller: true, uid: model.metadata.uid };
  const current = {
    metadata: { namespace: 'team-a', name: 'qwen', uid: 'd1', ownerReferences: [owner] },
    spec: { replicas: 1 },
  };
  const error = new KubeApiError({ code, reason: 'X', call }, message);
  const children = new Children({
    applier: {
      applyAll: (objects: KubeObject[]) => {
        kinds.push(...objects.map(({ kind }) => kind));
        return adopts ? Promise.resolve([]) : Promise.reject(error);
      },
    },
    view: { deployments: { get: () => (isStub ? { ...current, spec: 'too large' } : current) } },
    client: {
      find: () => Promise.resolve(current),
      mergePatch: (_: unknown, { at, patch }: { at: object; patch: object }) => {
        patches.push({ at, patch });
        return refusesScale ? Promise.reject(new Error('no scale')) : Promise.resolve({});
      },
    },
  } as never);
  const applied = await children.apply({
    live: model as unknown as KubeObject,
    built: build(model),
    beforePods: () => (adopts ? Promise.reject(error) : Promise.resolve()),
    signal: new AbortController().signal,
  });
  return { applied, patches, kinds };
}

describe('a Deployment whose changes Kueue refuses', () => {
  const scale = (replicas: number) => [
    {
      at: { namespace: 'team-a', name: 'qwen', subresource: 'scale' },
      patch: { metadata: { uid: 'd1' }, spec: { replicas } },
    },
  ];

  for (const [what, spec, replicas] of [
    ['other replicas', { replicas: 3 }, 3],
    ['a pause', { paused: true }, 0],
  ] as const)
    it(`takes ${what} by its scale`, async () => {
      const { applied, patches } = await apply(403, spec);
      expect(patches).to.deep.equal(scale(replicas));
      expect(applied.deployment?.spec?.replicas).to.equal(replicas);
      expect(applied.problems[0]).to.include({ reason: 'Forbidden', isFrozen: true });
      expect(applied.problems[0]!.message).to.include(DENIED);
    });

  it('is left alone if it has the replicas already, or the autoscaler sets them', async () => {
    for (const spec of [{ replicas: 1 }, { scaling: { min: 1, max: 3 } }])
      expect((await apply(403, spec)).patches).to.deep.equal([]);
  });

  it('is not scaled where another child is refused, before the front stands in', async () => {
    const { applied, patches } = await apply(
      403,
      { paused: true },
      {
        call: 'apply services team-a/qwen',
      },
    );
    expect(patches).to.deep.equal([]);
    expect(applied.problems[0]).to.include({ reason: 'Forbidden', isFrozen: false });
  });

  it('is not scaled against the will of another policy', async () => {
    const { applied, patches } = await apply(403, { paused: true }, { message: 'denied by policy' });
    expect(patches).to.deep.equal([]);
    expect(applied.problems[0]).to.include({ reason: 'Forbidden', isFrozen: true });
  });

  it('is paused where the watch keeps only a stub of it', async () => {
    expect((await apply(403, { paused: true }, { isStub: true })).patches).to.deep.equal(scale(0));
  });

  it('reports that its replicas could not be written either', async () => {
    const { applied } = await apply(403, { paused: true }, { refusesScale: true });
    expect(applied.problems[0]!.message)
      .to.include(DENIED)
      .and.to.match(/no scale$/);
  });

  it('is not applied without the owner of its replicas, which the autoscaler cannot be', async () => {
    const { applied, kinds, patches } = await apply(403, { scaling: { min: 1 } }, { adopts: true });
    expect(applied.problems[0]).to.include({ reason: 'Forbidden', isFrozen: true });
    expect(kinds).to.include('Service').and.not.to.include('Deployment');
    expect(patches).to.deep.equal([]);
  });

  it('is not scaled for a spec that is wrong', async () => {
    const { applied, patches } = await apply(422, { replicas: 3 });
    expect([applied.problems[0]!.reason, patches]).to.deep.equal(['Rejected', []]);
  });
});
