import { expect } from 'chai';
import { deriveStatus, type StatusFacts } from '../../../../operator/status/model-deployment.ts';
import { describeTransitions } from '../../../../operator/status/transitions.ts';
import { makeDeployment, makeFacts, makeModel, makePod } from './pod-fixtures.ts';

const ready = [makePod({ ready: true })];
const crashing = [makePod({ engine: { restartCount: 1, state: { terminated: { exitCode: 1 } } } })];
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
    name: 'a change of scale',
    before: { pods: ready },
    after: { pods: ready, desiredReplicas: 3 },
    events: ['Normal Scaled'],
  },
  {
    name: 'a pause without a warning',
    before: { pods: ready },
    after: { pods: [], desiredReplicas: 0 },
    spec: { paused: true },
    events: ['Normal Paused', 'Normal Scaled'],
  },
  {
    name: 'the last replica that was scaled down without a warning',
    before: { pods: ready },
    after: { pods: [], desiredReplicas: 0 },
    events: ['Normal ScaledToZero', 'Normal Scaled'],
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
    events: ['Normal Scaled'],
  },
  {
    name: 'a start from zero that fails, with its reason only',
    before: { desiredReplicas: 0 },
    after: { pods: crashing },
    events: ['Normal Scaled', 'Warning EngineCrashed'],
  },
  {
    name: 'that a start from zero was too fast to be seen',
    before: { desiredReplicas: 0 },
    after: { pods: ready },
    events: ['Normal Ready', 'Normal Scaled'],
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
    const change = (from: number, to: number, at: string, reason: string) => ({ at, from, to, reason });
    const burst = change(1, 3, '2026-01-01T12:00:00Z', 'demand 41 needs 3 replicas at 16 each');
    const scaling = { demand: 41, wanted: 3, needed: 3, reason: burst.reason, lastChange: burst };
    const describeEvents = (before: Partial<StatusFacts>, after: Partial<StatusFacts>) => {
      const status = deriveStatus(makeModel(), makeFacts(before));
      return describeTransitions(status, deriveStatus(makeModel({ status }), makeFacts(after))).map(
        ({ type, reason, message }) => `${type} ${reason}: ${message}`,
      );
    };

    it('say why the replicas are others, with the numbers', () => {
      const before = { pods: ready, scaling: { ...scaling, wanted: 1, lastChange: undefined } };
      expect(describeEvents(before, { pods: ready, desiredReplicas: 3, scaling })).to.deep.equal([
        'Normal Scaled: scaled from 1 to 3 replicas: demand 41 needs 3 replicas at 16 each',
      ]);
    });

    it('say so as well where the reason was in the status before the replicas', () => {
      expect(
        describeEvents({ pods: ready, scaling }, { pods: ready, desiredReplicas: 3, scaling }),
      ).to.deep.equal(['Normal Scaled: scaled from 1 to 3 replicas: demand 41 needs 3 replicas at 16 each']);
    });

    it('give no reason of another change', () => {
      const before = { pods: ready, desiredReplicas: 3, scaling };
      expect(describeEvents(before, { pods: ready, desiredReplicas: 2, scaling })).to.deep.equal([
        'Normal Scaled: scaled from 3 to 2 replicas',
      ]);
      const status = deriveStatus(
        makeModel({ spec: { paused: true } }),
        makeFacts({ desiredReplicas: 0, scaling }),
      );
      const resumed = deriveStatus(makeModel({ status }), makeFacts({ desiredReplicas: 3, scaling }));
      expect(describeTransitions(status, resumed).map(({ message }) => message)).to.deep.equal([
        'scaled from 0 to 3 replicas',
      ]);
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
