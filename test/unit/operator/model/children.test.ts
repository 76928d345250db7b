import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { Children } from '../../../../operator/model/children.ts';
import { build, makeModel } from '../resources/fixtures.ts';

const DENIED = 'admission webhook "vdeployment.kb.io" denied the request: field is immutable';

/** Applies a deployment whose Deployment has one replica, and whose `call` is refused with `code`. */
async function apply(code: number, spec: object, call = 'apply deployments team-a/qwen') {
  const model = makeModel(spec);
  const patches: object[] = [];
  const owner = { controller: true, uid: model.metadata.uid };
  const current = {
    metadata: { namespace: 'team-a', name: 'qwen', uid: 'd1', ownerReferences: [owner] },
    spec: { replicas: 1 },
  };
  const error = new KubeApiError({ code, reason: 'X', call }, DENIED);
  const children = new Children({
    applier: { applyAll: () => Promise.reject(error) },
    view: { deployments: { get: () => current } },
    client: {
      mergePatch: (_: unknown, { at, patch }: { at: object; patch: object }) => {
        patches.push({ at, patch });
        return Promise.resolve({});
      },
    },
    log: { warn: () => {} },
  } as never);
  const applied = await children.apply({
    live: model as unknown as KubeObject,
    built: build(model),
    beforePods: () => Promise.resolve(),
    signal: new AbortController().signal,
  });
  return { applied, patches };
}

describe('a Deployment whose changes an admission webhook refuses', () => {
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
      expect(applied.problems[0]).to.include({ reason: 'Forbidden' });
      expect(applied.problems[0]!.message).to.include(DENIED);
    });

  it('is left alone if it has the replicas already, or the autoscaler sets them', async () => {
    for (const spec of [{ replicas: 1 }, { scaling: { min: 1, max: 3 } }])
      expect((await apply(403, spec)).patches).to.deep.equal([]);
  });

  it('is not scaled where another child is refused, before the front stands in', async () => {
    const { patches } = await apply(403, { paused: true }, 'apply services team-a/qwen');
    expect(patches).to.deep.equal([]);
  });

  it('is not scaled for a spec that is wrong', async () => {
    const { applied, patches } = await apply(422, { replicas: 3 });
    expect([applied.problems[0]!.reason, patches]).to.deep.equal(['Rejected', []]);
  });
});
