import { expect } from 'chai';
import { deriveStatus, type StatusFacts } from '../../../../operator/status/model-deployment.ts';
import { describeScaling, describeTransitions } from '../../../../operator/status/transitions.ts';
import { at, makeDeployment, makeFacts, makeModel, makePod } from './pod-fixtures.ts';

const ready = [makePod({ ready: true })];
const crashing = [makePod({ engine: { restartCount: 1, state: { terminated: { exitCode: 1 } } } })];
const waiting = makePod({ unscheduled: '0/1 nodes are available: 1 Insufficient nvidia.com/gpu.' });
const HOST_CONFLICT = { reason: 'HostConflict', message: 'taken' };

interface Row {
  name: string;
  before?: Partial<StatusFacts>;
  after: Partial<StatusFacts>;
  spec?: object;
  events: string[];
}

const table: Row[] = [
  { name: 'nothing when nothing changed', before: { pods: ready }, after: { pods: ready }, events: [] },
  {
    name: 'no warning of a pod that waits for another to drain, but of one that finds no GPU after that',
    before: { pods: [waiting, makePod({ ready: true, deleting: at(2) })] },
    after: { pods: [waiting] },
    events: ['Warning InsufficientGPUs'],
  },
  {
    name: 'no warning of the drain itself',
    before: {},
    after: { pods: [waiting, makePod({ ready: true, deleting: at(2) })] },
    events: [],
  },
  {
    name: 'no warning of a pod that waits for quota',
    before: {},
    after: { pods: [makePod({ gates: ['kueue.x-k8s.io/admission'] })] },
    events: [],
  },
  { name: 'nothing new of a new object', after: {}, events: [] },
  { name: 'that it became ready', before: {}, after: { pods: ready }, events: ['Normal Ready'] },
  {
    name: 'a crash once, with its reason',
    before: { pods: ready },
    after: { pods: crashing },
    events: ['Warning NotReady', 'Warning EngineCrashed'],
  },
  {
    name: 'an image that cannot be pulled once, though the kubelet goes to and fro about it',
    before: { pods: [makePod({ engine: { state: { waiting: { reason: 'ErrImagePull' } } } })] },
    after: { pods: [makePod({ engine: { state: { waiting: { reason: 'ImagePullBackOff' } } } })] },
    events: [],
  },
  {
    name: 'a pause without a warning',
    before: { pods: ready },
    after: { pods: [], desiredReplicas: 0 },
    spec: { paused: true },
    events: ['Normal Paused'],
  },
  {
    name: 'the last replica that was scaled down without a warning',
    before: { pods: ready },
    after: { pods: [], desiredReplicas: 0 },
    events: ['Normal ScaledToZero'],
  },
  {
    name: 'nothing of a deployment that stays at zero',
    before: { desiredReplicas: 0 },
    after: { desiredReplicas: 0 },
    events: [],
  },
  {
    name: 'a pause at zero',
    before: { desiredReplicas: 0 },
    after: { desiredReplicas: 0 },
    spec: { paused: true },
    events: ['Normal Paused'],
  },
  {
    name: 'a start from zero without a warning',
    before: { desiredReplicas: 0 },
    after: { pods: [makePod({})] },
    events: [],
  },
  {
    name: 'a start from zero that fails, with its reason only',
    before: { desiredReplicas: 0 },
    after: { pods: crashing },
    events: ['Warning EngineCrashed'],
  },
  {
    name: 'that a start from zero was too fast to be seen',
    before: { desiredReplicas: 0 },
    after: { pods: ready },
    events: ['Normal Ready'],
  },
  {
    name: 'a host conflict once, though two conditions tell it',
    before: {},
    after: { problems: [HOST_CONFLICT] },
    events: ['Warning HostConflict'],
  },
  {
    name: 'the end of a rollout',
    before: {
      pods: [...ready, ...ready],
      desiredReplicas: 2,
      deployment: makeDeployment({ updatedReplicas: 1 }),
    },
    after: {
      pods: [...ready, ...ready],
      desiredReplicas: 2,
      deployment: makeDeployment({ updatedReplicas: 2 }),
    },
    events: ['Normal RolledOut'],
  },
];

describe('the event for replicas that were written', () => {
  it('says how many there were, and why there are others if that is known', () => {
    const change = { from: 1, to: 3 };
    expect(describeScaling(change, 'demand 41 needs 3 replicas at 16 each')).to.deep.equal({
      type: 'Normal',
      reason: 'Scaled',
      message: 'scaled from 1 to 3 replicas: demand 41 needs 3 replicas at 16 each',
    });
    expect(describeScaling(change).message).to.equal('scaled from 1 to 3 replicas');
  });
});

describe('the events of a ModelDeployment', () => {
  for (const row of table) {
    it(`report ${row.name}`, () => {
      const before = row.before ? deriveStatus(makeModel(), makeFacts(row.before)) : makeModel().status;
      const model = makeModel({ status: before, spec: row.spec ?? {} });
      const after = deriveStatus(model, makeFacts(row.after));
      const events = describeTransitions(before, after).map(({ type, reason }) => `${type} ${reason}`);
      expect(events).to.deep.equal(row.events);
    });
  }

  describe('with an autoscaler', () => {
    const scaling = { demand: 41, wanted: 3, needed: 3, reason: 'demand 41 needs 3 replicas at 16 each' };
    const describeEvents = (before: Partial<StatusFacts>, after: Partial<StatusFacts>) => {
      const status = deriveStatus(makeModel(), makeFacts(before));
      return describeTransitions(status, deriveStatus(makeModel({ status }), makeFacts(after))).map(
        ({ type, reason, message }) => `${type} ${reason}: ${message}`,
      );
    };

    it('do not say that replicas are others before the API server has accepted them', () => {
      const before = { pods: ready, scaling: { ...scaling, wanted: 1 } };
      expect(describeEvents(before, { pods: ready, desiredReplicas: 3, scaling })).to.deep.equal([]);
    });

    it('say once what is missing where GPUs are short', () => {
      const pods = [ready[0]!, ready[0]!, ready[0]!];
      const facts = (needed: number) => ({
        pods,
        desiredReplicas: 4,
        scaling: { ...scaling, wanted: 4, needed, short: true },
      });
      const enough = { pods, desiredReplicas: 4, scaling: { ...scaling, wanted: 4 } };
      expect(describeEvents(enough, facts(5))).to.deep.equal(['Warning GPUsShort: needs 5, has 3']);
      expect(describeEvents(facts(5), facts(6))).to.deep.equal([]);
    });
  });
});
