import { expect } from 'chai';
import { countBriefMs, findObstacle } from '../../../../operator/status/obstacle.ts';
import { at, makePod, NOW } from './pod-fixtures.ts';

describe('what gateways are told of a deployment without a ready replica', () => {
  const cases: [phase: string, reason: string, obstacle: string | undefined][] = [
    ['Invalid', 'SecretNotFound', 'Invalid'],
    ['Invalid', 'HostConflict', undefined],
    ['Failed', 'ImagePullBackOff', 'Failed'],
    ['Failed', 'EngineNotInstalled', 'Failed'],
    ['Failed', 'CrashLoopBackOff', 'Failed'],
    ['Failed', 'InitContainerFailed', 'Failed'],
    ['Failed', 'ReplicaFailure', 'Failed'],
    ['Failed', 'EngineCrashed', undefined],
    ['Unhealthy', 'EngineUnhealthy', 'Unhealthy'],
    ['Starting', 'Loading', undefined],
    ['Pending', 'InsufficientGPUs', undefined],
    ['Pending', 'WaitingForQuota', 'WaitingForQuota'],
    ['Starting', 'WaitingForQuota', undefined],
    ['ScaledToZero', 'ScaledToZero', undefined],
    ['Ready', 'Ready', undefined],
  ];
  for (const [phase, reason, obstacle] of cases)
    it(`is ${obstacle ?? 'nothing'} of ${phase}, ${reason}`, () => {
      const condition = { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '' };
      expect(findObstacle({ phase, conditions: [condition] } as never)).to.equal(obstacle);
    });
});

describe('a wait for quota', () => {
  const gated = (minutes: number) => makePod({ gates: ['kueue.x-k8s.io/admission'], created: at(minutes) });

  it('may be brief for ten seconds, as Kueue gates each pod, and longer while a predecessor drains', () => {
    expect(countBriefMs([gated(0)], NOW)).to.equal(10_000);
    expect(countBriefMs([gated(0)], NOW + 9_000)).to.equal(1_000);
    expect(countBriefMs([gated(0)], NOW + 10_000)).to.equal(0);
    const leaving = makePod({ ready: true, deleting: at(3) });
    expect(countBriefMs([gated(-1), leaving], NOW)).to.equal(Number.POSITIVE_INFINITY);
  });

  it('is not brief where a pod has waited longer, or the predecessor is stuck', () => {
    expect(countBriefMs([gated(0), gated(-1)], NOW)).to.equal(0);
    expect(countBriefMs([gated(-5), makePod({ deleting: at(-2) })], NOW)).to.equal(0);
  });
});
