import { expect } from 'chai';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import { trimPod } from '../../../../operator/framework/cluster-view.ts';
import { describePlacement } from '../../../../operator/scaling/capacity-probes.ts';
import { countPods, isAwaiting } from '../../../../operator/scaling/pods.ts';
import { at, makePod, NOW } from '../status/pod-fixtures.ts';

const REFUSAL = '0/4 nodes are available: 4 Insufficient nvidia.com/gpu.';
const trim = (pod: ReturnType<typeof makePod>) => trimPod(pod as never) as unknown as typeof pod;
const pods = [
  makePod({ ready: true }),
  makePod({ node: 'node-1' }),
  makePod({ unscheduled: REFUSAL }),
  makePod({ gates: ['kueue.x-k8s.io/admission'] }),
].map(trim);

describe('the pods that the autoscaler counts', () => {
  it('are those with a node, those for which none is found, and those that a queue holds back', () => {
    const counts = countPods(pods, { wanted: 4, startMs: 3_600_000, awaitedAt: 0, now: NOW });
    expect(counts).to.include({ ready: 1, starting: 1, unscheduled: 1, gated: 1, unschedulableMs: 600_000 });
  });

  it('do not lack a node while a queue holds them back', () => {
    const gated = pods.slice(3);
    const counts = countPods(gated, { wanted: 1, startMs: 1, awaitedAt: 0, now: at(60).getTime() });
    expect(counts).to.include({ gated: 1, unscheduled: 0, broken: 0, unschedulableMs: 0 });
  });

  it('are not refused while others drain for them', () => {
    const refused = makePod({ unscheduled: REFUSAL, queue: 'gpus' });
    const eviction = { type: 'TerminationTarget', reason: 'WorkloadEvictedDueToPreempted' };
    const draining = [makePod({ ready: true, deleting: at(3), eviction })];
    const seen = [refused, makePod({ gates: ['x'], queue: 'gpus' }), makePod({ queue: 'gpus' })];
    expect(seen.map((pod) => isAwaiting(pod, draining, NOW))).to.deep.equal([true, false, false]);
    expect(isAwaiting(refused, [], NOW)).to.equal(false);
  });

  it('are refused only since others have drained for them', () => {
    const refused = [makePod({ unscheduled: REFUSAL })];
    const count = (awaitedAt: number) => countPods(refused, { wanted: 1, startMs: 1, awaitedAt, now: NOW });
    expect(count(0)).to.include({ unscheduled: 1, unschedulableMs: 600_000 });
    expect(count(NOW - 4_000)).to.include({ unscheduled: 1, unschedulableMs: 4_000 });
  });

  it('wait for no node in the line of deployments while a queue holds them back', () => {
    const model = modelDeployment.parse({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'm', namespace: 'n' },
      spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'vllm' }, scaling: { min: 0, max: 4 } },
    });
    const deployment = { waitingSince: undefined, awaitedAt: 0 };
    const place = (seen: typeof pods) =>
      describePlacement('n/m', model, { pods: seen, deployment, now: NOW });
    expect(place(pods)).to.include({ placed: 2, pending: 1, refusedMs: 600_000 });
    expect(place(pods.slice(3))).to.include({ placed: 0, pending: 0, refusedMs: 0 });
  });
});
