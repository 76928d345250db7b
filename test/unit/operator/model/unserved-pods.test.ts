import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeClient } from '../../../../kube/client.ts';
import type { ModelContext } from '../../../../operator/model/context.ts';
import { hurryUnserved, listUnserved } from '../../../../operator/model/unserved-pods.ts';
import { makePod } from '../status/pod-fixtures.ts';

function makeLeaving(grace: number | undefined, engine: Partial<V1ContainerStatus> = {}): V1Pod {
  const pod = makePod({ engine: { started: false, restartCount: 0, ...engine } });
  return { ...pod, metadata: { ...pod.metadata!, ...(grace && { deletionGracePeriodSeconds: grace }) } };
}

describe('a pod that is deleted before its engine has answered', () => {
  it('is given no more time than it takes to end', () => {
    const starting = makeLeaving(210);
    const silent = { ...makeLeaving(210), status: {} };
    expect(listUnserved([starting, silent])).to.deep.equal([starting, silent]);
  });

  it('is told so once', () => expect(listUnserved([makeLeaving(30)])).to.deep.equal([]));

  it('is none while it is wanted, nor after its engine has served or crashed', () => {
    const crashed = { state: { terminated: { exitCode: 1 } } };
    const others = [
      makeLeaving(undefined),
      makeLeaving(210, crashed),
      makeLeaving(210, { started: true }),
      makeLeaving(210, { restartCount: 1 }),
    ];
    expect(listUnserved(others)).to.deep.equal([]);
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
    const context = { client, view } as unknown as ModelContext;
    await hurryUnserved(context, 'team-a/qwen', new AbortController().signal);
    expect(given).to.deep.equal([{ name: 'qwen-1', namespace: 'team-a', uid: 'u2', graceSeconds: 30 }]);
  });
});
