import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeClient } from '../../../../kube/client.ts';
import type { ModelContext } from '../../../../operator/model/context.ts';
import { decideHurry, hurryUnserved } from '../../../../operator/model/unserved-pods.ts';
import { makePod } from '../status/pod-fixtures.ts';

function makeLeaving(grace: number | undefined, engine: Partial<V1ContainerStatus> = {}): V1Pod {
  const pod = makePod({ engine: { started: false, restartCount: 0, ...engine } });
  const leaving = grace && { deletionGracePeriodSeconds: grace, deletionTimestamp: ENDS_AT };
  return { ...pod, metadata: { ...pod.metadata!, ...leaving } };
}

const ENDS_AT = new Date('2026-11-29T01:28:07Z');
const at = (seconds: number): number => ENDS_AT.getTime() + seconds * 1_000;

describe('a pod that is deleted before its engine has answered', () => {
  it('is given no more time than it takes to end', () => {
    for (const pod of [makeLeaving(210), { ...makeLeaving(210), status: {} }])
      expect(decideHurry(pod, at(-200))).to.deep.equal({ graceSeconds: 30 });
  });

  it('is looked at again, and given less once it has outlived that', () => {
    expect(decideHurry(makeLeaving(30), at(-25))).to.deep.equal({ recheckMs: 28_000 });
    expect(decideHurry(makeLeaving(30), at(3))).to.deep.equal({ graceSeconds: 5 });
    expect(decideHurry(makeLeaving(5), at(60))).to.equal(null);
  });

  it('is none while it is wanted, nor after its engine has served or crashed', () => {
    const crashed = { state: { terminated: { exitCode: 1 } } };
    const others = [
      makeLeaving(undefined),
      makeLeaving(210, crashed),
      makeLeaving(210, { started: true }),
      makeLeaving(210, { restartCount: 1 }),
    ];
    for (const pod of others) expect(decideHurry(pod, at(-200))).to.equal(null);
  });

  it('is named by its UID, and may be gone by then', async () => {
    const given: unknown[] = [];
    const client = {
      delete: async (...[, at, { uid, graceSeconds }]: Required<Parameters<KubeClient['delete']>>) => {
        given.push({ ...at, uid, graceSeconds });
        throw new KubeApiError({ code: 404, reason: 'NotFound', call: 'delete pods' }, 'gone');
      },
    };
    const pod = makeLeaving(210);
    const metadata = { ...pod.metadata, namespace: 'team-a', uid: 'u2' };
    const view = { pods: { byIndex: () => [{ ...pod, metadata }] } };
    const context = { client, view, now: () => at(-200) } as unknown as ModelContext;
    const again = await hurryUnserved(context, 'team-a/qwen', new AbortController().signal);
    expect(again).to.equal(33_000);
    expect(given).to.deep.equal([{ name: 'qwen-1', namespace: 'team-a', uid: 'u2', graceSeconds: 30 }]);
  });
});
