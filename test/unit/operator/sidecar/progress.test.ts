import { expect } from 'chai';
import { readProgress } from '../../../../operator/sidecar/progress.ts';

describe('the progress of a rollout', () => {
  const read = (status: object) =>
    readProgress({
      metadata: { name: 'chat', generation: 3 },
      spec: { replicas: 2 },
      status: {
        observedGeneration: 3,
        replicas: 2,
        availableReplicas: 2,
        conditions: [
          {
            type: 'Progressing',
            status: 'True',
            reason: 'NewReplicaSetAvailable',
            lastUpdateTime: '2026-03-04T12:00:00Z',
          },
        ],
        ...status,
      },
    } as unknown as Parameters<typeof readProgress>[0]);

  it('is complete once every pod is of the latest template and was ready', () => {
    expect(read({ updatedReplicas: 2 })).to.include({ isComplete: true, isAvailable: true });
  });

  // The condition is still that of the previous rollout until the first new pod exists.
  for (const updatedReplicas of [undefined, 0, 1])
    it(`of a rollback to a ReplicaSet that is still there is not complete with ${updatedReplicas} of 2 pods`, () => {
      expect(read({ updatedReplicas }).isComplete).to.equal(false);
    });

  it('is complete without a pod where none is wanted', () => {
    expect(read({ replicas: undefined, updatedReplicas: undefined }).isComplete).to.equal(true);
  });
});
