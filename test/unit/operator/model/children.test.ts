import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { Children } from '../../../../operator/model/children.ts';
import { build, makeModel } from '../resources/fixtures.ts';

const DENIED =
  'admission webhook "vdeployment.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: field is immutable';
const CALL = 'apply deployments team-a/qwen';

/**
 * Applies a deployment whose Deployment has one replica, and whose `call` is refused with `code`. `adopts`: before its pods.
 * `refused`: the only kind that is.
 */
async function apply(
  code: number,
  spec: object,
  { call = CALL, message = DENIED, isStub = false, refusesScale = false, adopts = false, refused = '' } = {},
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
        const isAccepted = adopts || (refused !== '' && !objects.some(({ kind }) => kind === refused));
        return isAccepted ? Promise.resolve(objects.map((object) => ({ object }))) : Promise.reject(error);
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

  it('is reported as it was accepted where only its Ingress is refused', async () => {
    const call = 'apply ingresses team-a/qwen';
    const { applied } = await apply(403, { replicas: 3 }, { call, refused: 'Ingress' });
    expect(applied.problems[0]).to.include({ reason: 'Forbidden', isFrozen: false });
    expect(applied.deployment?.spec?.replicas).to.equal(3);
  });

  it('is not scaled for a spec that is wrong', async () => {
    const { applied, patches } = await apply(422, { replicas: 3 });
    expect([applied.problems[0]!.reason, patches]).to.deep.equal(['Rejected', []]);
  });
});

describe('templates of former device claims', () => {
  /** Applies each spec, with a Deployment that is rolled or being rolled; returns what is listed and removed. */
  async function tidy(...steps: { spec: object; generation: number; isRolling?: boolean }[]) {
    const calls: string[] = [];
    const owned = { ownerReferences: [{ controller: true, uid: 'uid-1' }] };
    const templates = new Set<string>();
    const children = new Children({
      applier: {
        applyAll: (objects: KubeObject[]) => {
          const rolled = { observedGeneration: isRolled ? 1 : 0 };
          for (const { kind, metadata } of objects)
            if (kind === 'ResourceClaimTemplate') templates.add(metadata.name!);
          return Promise.resolve(
            objects.map((object) => {
              const metadata = { ...object.metadata, generation: 1 };
              return { object: { ...object, metadata, status: rolled } };
            }),
          );
        },
        removeOthers: () => Promise.resolve(),
        remove: ({ metadata }: KubeObject) => {
          templates.delete(metadata.name!);
          calls.push('remove');
          return Promise.resolve();
        },
      },
      client: {
        find: () => Promise.resolve(undefined),
        list: () => {
          calls.push('list');
          return Promise.resolve({ items: [...templates].map((name) => ({ metadata: { name, ...owned } })) });
        },
      },
      settings: {},
      view: { frontIngresses: { get: () => undefined } },
    } as never);
    let isRolled = true;
    for (const { spec, generation, isRolling = false } of steps) {
      isRolled = !isRolling;
      const model = makeModel(spec, { generation });
      await children.apply({
        live: model as unknown as KubeObject,
        built: { ...build(model), frontRoute: undefined },
        beforePods: () => Promise.resolve(),
        signal: new AbortController().signal,
      });
    }
    return { calls, left: templates.size };
  }
  const claiming = (count: number, generation: number) => ({
    spec: { gpu: { count, deviceClass: 'gpu.nvidia.com' } },
    generation,
  });
  const plain = { spec: { gpu: { count: 1 } }, generation: 2 };

  it('are removed when the pods made from them are gone, and looked for once per generation', async () => {
    const rolling = { ...claiming(2, 2), isRolling: true };
    expect(await tidy(claiming(1, 1), rolling)).to.deep.equal({ calls: ['list'], left: 2 });
    const steps = [claiming(1, 1), rolling, claiming(2, 2), claiming(2, 2)];
    expect(await tidy(...steps)).to.deep.equal({ calls: ['list', 'list', 'remove'], left: 1 });
  });

  it('are removed where GPUs are requested by name again, and not looked for where they always were', async () => {
    expect((await tidy(claiming(1, 1), plain)).left).to.equal(0);
    expect((await tidy(plain)).calls).to.deep.equal([]);
  });
});
