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
});
