import { expect } from 'chai';
import { trimPod } from '../../../../operator/framework/cluster-view.ts';
import { isDrainingForOthers, listAwaited } from '../../../../operator/status/eviction.ts';
import { at, makePod, NOW, type PodShape } from './pod-fixtures.ts';

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

  it('are not those that hold no GPUs, without a node or ended', () => {
    const leaving = { deleting: at(3), eviction: BY_KUEUE };
    for (const shape of [
      { gates: ['kueue.x-k8s.io/admission'] },
      { phase: 'Failed' },
      { phase: 'Succeeded' },
    ])
      expect(isDrainingForOthers(trim({ ...leaving, ...shape }))).to.equal(false);
  });

  it('are awaited by a pod that Kueue has admitted, for it has their quota', () => {
    for (const message of ['', 'Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN)']) {
      const draining = [evicted({ ...BY_KUEUE, message })];
      expect(listAwaited(trim({ unscheduled: 'x', queue: 'gpus' }), draining, NOW)).to.have.length(1);
      expect(listAwaited(trim({ unscheduled: 'x' }), draining, NOW)).to.have.length(0);
    }
  });

  it('are awaited only by the pod that Kueue names', () => {
    const message = 'Preempted to accommodate a workload (UID: w2, JobUID: p2) due to prioritization';
    const draining = [evicted({ ...BY_KUEUE, message })];
    const awaitedBy = (uid: string) =>
      listAwaited(trim({ unscheduled: 'x', queue: 'gpus', uid }), draining, NOW);
    expect(awaitedBy('p2')).to.have.length(1);
    expect(awaitedBy('p3')).to.have.length(0);
  });

  it('are awaited no longer once they are stuck', () => {
    const pod = trim({ unscheduled: 'x', queue: 'gpus' });
    const gone = at(3).getTime();
    expect(listAwaited(pod, [evicted(BY_KUEUE)], gone + 60_000)).to.have.length(1);
    expect(listAwaited(pod, [evicted(BY_KUEUE)], gone + 60_001)).to.have.length(0);
  });

  it('are awaited by the pod for which the scheduler has chosen their node', () => {
    const draining = [evicted(BY_SCHEDULER)];
    const pod = trim({ unscheduled: 'x' });
    expect(listAwaited(nominate(pod, 'node-1'), draining, NOW)).to.have.length(1);
    for (const other of [nominate(pod, 'node-2'), pod])
      expect(listAwaited(other, draining, NOW)).to.have.length(0);
  });
});
