import { expect } from 'chai';
import { trimPod } from '../../../../operator/framework/cluster-view.ts';
import { isDrainingForOthers, listAwaited } from '../../../../operator/status/eviction.ts';
import { at, makePod, type PodShape } from './pod-fixtures.ts';

const trim = (shape: PodShape) => trimPod(makePod(shape) as never) as unknown as ReturnType<typeof makePod>;
const BY_KUEUE = { type: 'TerminationTarget', reason: 'WorkloadEvictedDueToPreempted' };
const BY_SCHEDULER = { type: 'DisruptionTarget', reason: 'PreemptionByScheduler' };
const evicted = (eviction: object) => trim({ ready: true, deleting: at(3), eviction } as PodShape);
const nominate = (pod: ReturnType<typeof makePod>, node: string) => ({
  ...pod,
  status: { ...pod.status, nominatedNodeName: node },
});

describe('pods that drain for others', () => {
  it('are those that were evicted, not those that leave anyway', () => {
    expect(isDrainingForOthers(evicted(BY_KUEUE))).to.equal(true);
    expect(isDrainingForOthers(trim({ ready: true, deleting: at(3) }))).to.equal(false);
    expect(isDrainingForOthers(trim({ ready: true, eviction: BY_KUEUE }))).to.equal(false);
  });

  it('are awaited by a pod that Kueue has admitted, for it has their quota', () => {
    const draining = [evicted(BY_KUEUE)];
    expect(listAwaited(trim({ unscheduled: 'x', queue: 'gpus' }), draining)).to.have.length(1);
    expect(listAwaited(trim({ unscheduled: 'x' }), draining)).to.have.length(0);
  });

  it('are awaited by the pod for which the scheduler has chosen their node', () => {
    const draining = [evicted(BY_SCHEDULER)];
    const pod = trim({ unscheduled: 'x' });
    expect(listAwaited(nominate(pod, 'node-1'), draining)).to.have.length(1);
    for (const other of [nominate(pod, 'node-2'), pod])
      expect(listAwaited(other, draining)).to.have.length(0);
  });
});
