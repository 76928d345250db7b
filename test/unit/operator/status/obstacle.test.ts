import { expect } from 'chai';
import { findObstacle } from '../../../../operator/status/obstacle.ts';

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
