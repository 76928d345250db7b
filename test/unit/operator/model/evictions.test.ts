import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { Evictions, watchEvictions } from '../../../../operator/model/evictions.ts';
import { at, makePod, type PodShape } from '../status/pod-fixtures.ts';

const KEY = 'team/qwen';
const MESSAGE = 'Preempted to accommodate a workload (UID: w-2, JobUID: p-2) due to prioritization';
const PREEMPTED = {
  type: 'TerminationTarget',
  reason: 'WorkloadEvictedDueToPreempted',
  message: MESSAGE,
};
const LATE = {
  ...PREEMPTED,
  reason: 'WorkloadEvictedDueToPodsReadyTimeout',
  message: 'Exceeded the timeout',
};

describe("evictions of a deployment's pods", () => {
  let events: string[];
  let evictions: Evictions;

  beforeEach(() => {
    events = [];
    evictions = new Evictions((key, { type, reason, note }) =>
      events.push(`${key} ${type} ${reason}: ${note}`),
    );
  });

  const see = (uid: string, shape: PodShape) => {
    const pod = makePod(shape);
    evictions.observe(KEY, undefined, { ...pod, metadata: { ...pod.metadata, uid, name: uid } } as V1Pod);
  };
  const lose = (uid: string) => evictions.observe(KEY, { metadata: { uid } } as V1Pod, undefined);

  it('are an event each, in the words of Kueue, while the pod is still ready and as it drains', () => {
    see('p1', { ready: true, eviction: PREEMPTED });
    see('p1', { ready: true, eviction: PREEMPTED, deleting: at(3) });
    lose('p1');
    expect(events).to.deep.equal([`team/qwen Warning Preempted: pod p1: ${MESSAGE}`]);
  });

  it('have another reason where nobody preempts', () => {
    see('p1', { eviction: LATE });
    expect(events).to.deep.equal(['team/qwen Warning Evicted: pod p1: Exceeded the timeout']);
  });

  it("are also the scheduler's preemptions, not drains of nodes", () => {
    see('p1', { eviction: { type: 'DisruptionTarget', reason: 'PreemptionByScheduler', message: 'x' } });
    see('p2', { eviction: { type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI', message: 'x' } });
    expect(events).to.deep.equal(['team/qwen Warning Preempted: pod p1: x']);
  });

  it('are counted while no pod has been ready', () => {
    for (const uid of ['p1', 'p2', 'p3']) {
      see(uid, { eviction: LATE });
      lose(uid);
    }
    expect(evictions.inVain(KEY)).to.include({ count: 3, message: 'Exceeded the timeout' });
    see('p4', { ready: true });
    expect(evictions.inVain(KEY)).to.equal(undefined);
  });

  it('of pods that have served are not in vain', () => {
    see('p1', { ready: true, eviction: PREEMPTED, deleting: at(3) });
    expect(evictions.inVain(KEY)).to.equal(undefined);
  });

  it('count anew after nothing was to run', () => {
    see('p1', { eviction: LATE });
    evictions.reset(KEY);
    see('p1', { eviction: LATE });
    expect(evictions.inVain(KEY)).to.equal(undefined);
  });

  it('are not those of pods that have outlived their deployment', () => {
    const keys = new Set<string>();
    const models = { get: (key: string) => (keys.has(key) ? {} : undefined) };
    const watching = { show: (_before: unknown, _pod: unknown) => {} };
    const pods = {
      onChange: (listener: typeof watching.show) => Object.assign(watching, { show: listener }),
    };
    watchEvictions({ pods, models } as never, evictions);
    const pod = makePod({ uid: 'p1', eviction: LATE });
    Object.assign(pod.metadata!, { namespace: 'team', labels: { 'berth.dev/deployment': 'qwen' } });
    watching.show(undefined, pod);
    expect(events).to.have.length(0);
    keys.add(KEY);
    watching.show(undefined, pod);
    expect(events).to.have.length(1);
  });

  it('are forgotten with the deployment', () => {
    see('p1', { eviction: LATE });
    evictions.delete(KEY);
    expect(evictions.inVain(KEY)).to.equal(undefined);
  });
});
