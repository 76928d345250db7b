import { expect } from 'chai';
import {
  describeBudgets,
  describeCredits,
  describeDeployments,
  listFailingConditions,
} from '../../../operator/object-metrics.ts';

const model = (conditions: object[], more: object = {}) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { namespace: 'team', name: 'chat' },
  status: { conditions, ...more },
});
const condition = (type: string, status: string, reason: string) => ({ type, status, reason });

describe("what the operator's metrics tell of objects", () => {
  it('are the conditions that are False and should not be', () => {
    const broken = model([
      condition('Ready', 'False', 'EngineUnhealthy'),
      condition('Accepted', 'True', 'Accepted'),
      condition('Progressing', 'False', 'ProgressDeadlineExceeded'),
      condition('UpdateAvailable', 'False', 'UpToDate'),
      condition('Fits', 'Unknown', 'NotLookedUp'),
    ]);
    const base = { kind: 'ModelDeployment', namespace: 'team', name: 'chat' };
    expect(listFailingConditions([broken])).to.deep.equal([
      { ...base, condition: 'Ready', reason: 'EngineUnhealthy' },
      { ...base, condition: 'Progressing', reason: 'ProgressDeadlineExceeded' },
    ]);
  });

  it('are none of a deployment that has settled, that starts, or that its owner stopped', () => {
    const fine = [
      ['Progressing', 'Complete'],
      ['Available', 'Paused'],
      ['Available', 'ScaledToZero'],
      ['Available', 'NoReplicaReady'],
      ['Ready', 'Starting'],
    ].map(([type, reason]) => model([condition(type!, 'False', reason!)]));
    expect(listFailingConditions(fine)).to.deep.equal([]);
  });

  it('are bounded, however much fails', () => {
    const broken = model([condition('Ready', 'False', 'EngineUnhealthy')]);
    expect(listFailingConditions(Array(20_000).fill(broken))).to.have.length(5_000);
  });

  it('are replicas, phase and targets of deployments, also of one without a status', () => {
    const known = {
      ...model([], { phase: 'Ready', desiredReplicas: 3, readyReplicas: 2 }),
      spec: { slo: { availability: 99.9, timeToFirstToken: { within: '1s', percent: 95 } } },
    };
    const fresh = { apiVersion: 'v1', kind: 'ModelDeployment', metadata: { namespace: 'team', name: 'new' } };
    expect([...describeDeployments([known, fresh])]).to.deep.equal([
      {
        namespace: 'team',
        deployment: 'chat',
        phase: 'Ready',
        desired: 3,
        ready: 2,
        targets: [
          ['availability', 0.999],
          ['time_to_first_token', 0.95],
        ],
      },
      { namespace: 'team', deployment: 'new', phase: 'Unknown', desired: 0, ready: 0, targets: [] },
    ]);
  });

  it('are the credits of workspaces that have one', () => {
    const workspace = (spec: object, status: object) => ({
      apiVersion: 'v1',
      kind: 'Workspace',
      metadata: { namespace: 'team', name: 'workspace' },
      spec,
      status,
    });
    expect([
      ...describeCredits([workspace({ credit: '10' }, { creditRemaining: '0.5' }), workspace({}, {})]),
    ]).to.deep.equal([{ namespace: 'team', granted: 10, remaining: 0.5 }]);
  });

  it('are the budgets of owners and then of keys that have a status, at most 1,000', () => {
    const object = (kind: string, name: string, spec: object, status: object) => ({
      apiVersion: 'v1',
      kind,
      metadata: { namespace: 'team', name },
      spec,
      status,
    });
    const owners = [
      { name: 'a', budget: { amount: '5' } },
      { name: 'b' },
      { name: 'c', budget: { amount: '6' } },
    ];
    const workspace = object('Workspace', 'workspace', { owners }, { owners: [{ name: 'a', spent: '1.5' }] });
    const key = object('APIKey', 'k', { budget: { amount: '2' } }, { budget: { spent: '3' } });
    const samples = describeBudgets(
      [workspace],
      [object('APIKey', 'new', {}, {}), ...Array.from({ length: 1_500 }, () => key)],
    );
    expect(samples.slice(0, 2)).to.deep.equal([
      { namespace: 'team', holder: 'owner', name: 'a', amount: 5, spent: 1.5 },
      { namespace: 'team', holder: 'key', name: 'k', amount: 2, spent: 3 },
    ]);
    expect(samples).to.have.length(1_000);
  });
});
