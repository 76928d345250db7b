import { expect } from 'chai';
import type { Wire } from '../../../../kube/object.ts';
import { isOutdated } from '../../../../operator/resources/rolling.ts';
import { findCondition } from '../../../../operator/status/condition-list.ts';
import { deriveStatus, type StatusFacts } from '../../../../operator/status/model-deployment.ts';
import { at, makeDeployment, makeFacts, makeModel, makePod } from './pod-fixtures.ts';

const SCALED = { scaling: { min: 1, max: 3 } };
const LOOP = {
  restartCount: 5,
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode: 1, message: 'wrong argument' } },
};
const old = { template: 'old', created: at(-60) };
const fresh = { template: 'new', created: at(-1) };
const late = {
  type: 'Progressing',
  status: 'False',
  reason: 'ProgressDeadlineExceeded',
  message: 'late',
};

/** Reasons of kstatus' conditions. */
function read(facts: Partial<StatusFacts>, spec: object = {}) {
  const { conditions } = deriveStatus(makeModel({ spec }), makeFacts(facts));
  return {
    reconciling: findCondition(conditions, 'Reconciling')?.reason,
    stalled: findCondition(conditions, 'Stalled')?.reason,
  };
}

describe('a change of the spec', () => {
  it('is not complete before the Deployment has it', () => {
    const facts = { pods: [makePod({ ready: true })] };
    expect(read(facts)).to.deep.equal({ reconciling: undefined, stalled: undefined });
    expect(read({ ...facts, isOutdated: true })).to.deep.equal({
      reconciling: 'RollingOut',
      stalled: undefined,
    });
  });

  it('does not fail for what it mends, before a pod has it and while those of the former spec are left', () => {
    const crashing = makePod({ engine: LOOP, ...old });
    const failing = makeDeployment({ replicas: 1, updatedReplicas: 1, conditions: [late] });
    expect(read({ pods: [crashing], deployment: failing }).stalled).to.equal('CrashLoopBackOff');
    expect(read({ pods: [crashing], deployment: failing, isOutdated: true }).stalled).to.equal(undefined);
    const unbegun = makeDeployment({ replicas: 1, updatedReplicas: 0 });
    expect(read({ pods: [crashing], deployment: unbegun }).stalled).to.equal(undefined);
    const rolling = makeDeployment({ replicas: 2, updatedReplicas: 1 });
    const starting = makePod(fresh);
    for (const pods of [
      [crashing, starting],
      [starting, crashing],
    ])
      expect(read({ pods, deployment: rolling }).stalled).to.equal(undefined);
  });

  it('to no replicas does not fail for pods that are about to leave', () => {
    const deployment = makeDeployment({ replicas: 1, updatedReplicas: 1, conditions: [late] });
    const facts = { pods: [makePod({ engine: LOOP })], deployment };
    for (const spec of [{ paused: true }, { replicas: 0 }])
      expect(read({ ...facts, desiredReplicas: 0 }, spec).stalled).to.equal(undefined);
  });

  it('to no replicas is no rollout, though one was in progress', () => {
    const deployment = makeDeployment({ replicas: 2, updatedReplicas: 1 });
    const facts = { pods: [makePod(old), makePod(fresh)], deployment, desiredReplicas: 0 };
    expect(read(facts, { paused: true })).to.deep.equal({ reconciling: 'Scaling', stalled: undefined });
  });

  for (const [what, spec] of [
    ['fixed', {}],
    ['scaled', SCALED],
  ] as const)
    it(`of a ${what} number of replicas is complete when the last former replica is gone`, () => {
      const serving = makePod({ ready: true, ...old });
      const rolling = makeDeployment({ replicas: 2, updatedReplicas: 1 });
      const surge = (replacement: object) => ({ deployment: rolling, pods: [serving, makePod(replacement)] });
      expect(read(surge(fresh), spec)).to.deep.equal({ reconciling: 'RollingOut', stalled: undefined });
      expect(read(surge({ ...fresh, engine: LOOP }), spec).stalled).to.equal('CrashLoopBackOff');
      const deployment = makeDeployment({ replicas: 1, updatedReplicas: 1 });
      const done = read({ deployment, pods: [makePod({ ready: true, ...fresh })] }, spec);
      expect(done).to.deep.equal({ reconciling: undefined, stalled: undefined });
    });
});

describe('a Deployment', () => {
  const deployment = (inputs: string, generation = 2, observedGeneration: number | undefined = 2) =>
    ({
      metadata: { name: 'a', generation, annotations: { 'berth.dev/template-inputs': inputs } },
      status: { observedGeneration },
    }) as unknown as Wire<NonNullable<StatusFacts['deployment']>>;

  it('is outdated without the template, and until its controller has seen it', () => {
    const wanted = deployment('x');
    expect(isOutdated(deployment('x'), wanted)).to.equal(false);
    expect(isOutdated(deployment('w'), wanted)).to.equal(true);
    expect(isOutdated(deployment('x', 3), wanted)).to.equal(true);
    expect(isOutdated(undefined, wanted)).to.equal(false);
  });
});

describe('a change that an admission webhook refuses', () => {
  const refusal = { reason: 'Forbidden', message: 'metadata.labels: field is immutable' };
  const problems = [{ ...refusal, isFrozen: true }];
  const evaluate = (facts: Partial<StatusFacts>, spec: object = {}) => {
    const status = deriveStatus(makeModel({ spec }), makeFacts({ problems, ...facts }));
    const reasonOf = (type: string) => findCondition(status.conditions, type)?.reason;
    return [status.phase, reasonOf('Ready'), reasonOf('Accepted'), reasonOf('Reconciling')];
  };

  it('leaves the deployment ready by what serves, and is in progress', () =>
    expect(evaluate({ pods: [makePod({ ready: true })] })).to.deep.equal([
      'Ready',
      'Ready',
      'Forbidden',
      'Forbidden',
    ]));

  it('leaves a paused one paused', () =>
    expect(evaluate({ desiredReplicas: 0 }, { paused: true })).to.deep.equal([
      'Paused',
      'Paused',
      'Forbidden',
      'Forbidden',
    ]));

  it('is what a deployment lacks of which nothing serves', () =>
    expect(evaluate({})).to.deep.equal(['Invalid', 'Forbidden', 'Forbidden', undefined]));

  it('does not leave a paused one paused whose replicas still serve, or that has no Deployment', () => {
    const rest = { desiredReplicas: 0, pods: [makePod({ ready: true })] };
    expect(evaluate(rest, { paused: true })[0]).to.equal('Invalid');
    const deployment = { ...makeDeployment(), spec: { replicas: 0 } as never };
    expect(evaluate({ ...rest, deployment }, { paused: true })[0], 'once they are to go').to.equal('Paused');
    expect(evaluate({ desiredReplicas: 0, deployment: undefined }, { paused: true })[0]).to.equal('Invalid');
  });

  it("is not the same as another child's refusal, such as the Ingress's", () =>
    expect(evaluate({ pods: [makePod({ ready: true })], problems: [...problems, refusal] })[0]).to.equal(
      'Invalid',
    ));

  it('is not the same as a spec that is wrong', () => {
    const wrong = [{ reason: 'SecretNotFound', message: 'no Secret' }];
    expect(evaluate({ pods: [makePod({ ready: true })], problems: wrong })[0]).to.equal('Invalid');
  });
});
