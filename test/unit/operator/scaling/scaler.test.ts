import { expect } from 'chai';
import { Scaler, type ScalerOptions } from '../../../../operator/scaling/scaler.ts';
import type { DeploymentSample } from '../../../../redis/demand/demand.ts';
import { settle } from '../../../support/fake-clock.ts';
import { makeModel } from '../resources/fixtures.ts';

const START = 1_800_000_000_000;
const SCALING = { min: 0, max: 3, stableWindow: '6s', panicWindow: '2s', idleTimeout: '10s' };

describe('the scaler', () => {
  let time: number;
  let state: 'up' | 'away';
  let samples: Map<string, Partial<DeploymentSample>>;
  let replicas: Map<string, number>;
  let written: Record<string, number>;
  let scaler: Scaler;

  beforeEach(() => {
    [time, state, written] = [START, 'up', {}];
    samples = new Map();
    replicas = new Map();
    const names = () => [...replicas.keys()];
    const view = {
      deployments: {
        get: (key: string) => {
          const name = key.slice('team-a/'.length);
          return {
            metadata: { namespace: 'team-a', name, uid: name },
            spec: { replicas: replicas.get(name) },
          };
        },
      },
      pods: {
        byIndex: () => [],
      },
    };
    scaler = new Scaler({
      client: {
        apply: (
          _: unknown,
          { metadata, spec }: { metadata: { name: string }; spec: { replicas: number } },
        ) => {
          written[metadata.name] = spec.replicas;
          return Promise.resolve({ metadata: { generation: 1 } });
        },
      },
      view,
      models: {
        namespaces: () => ['team-a'],
        keys: () => names().map((name) => `team-a/${name}`),
        get: (key: string) => ({ ok: true, value: modelOf(key.slice('team-a/'.length)) }),
        isLeaving: () => false,
      },
      connection: {
        get state() {
          return state;
        },
      },
      publisher: { mark: () => {} },
      enqueue: () => {},
      log: { info: () => {}, warn: () => {} },
      now: () => time,
      read: () =>
        Promise.resolve(
          new Map(
            names().map((name) => [
              name,
              {
                replicas: [],
                fronts: [],
                jobs: { queued: 0, running: 0, paceMs: null },
                at: time,
                ...samples.get(name),
              },
            ]),
          ),
        ),
    } as unknown as ScalerOptions);
  });

  const modelOf = (name: string) => makeModel({ scaling: SCALING }, { name, uid: name });
  const queued = { jobs: { queued: 1, running: 0, paceMs: null } };

  it('scales the others of a workspace where one cannot be judged', async () => {
    replicas = new Map([
      ['a', 0],
      ['b', 0],
    ]);
    samples = new Map<string, Partial<DeploymentSample>>([
      ['a', { ...queued, replicas: null as never }],
      ['b', queued],
    ]);
    await scaler.look();
    await settle();
    expect(written).to.have.property('b', 1);
  });

  it('keeps the minimum while Redis is away, where it was raised', async () => {
    replicas = new Map([['a', 1]]);
    const model = makeModel({ scaling: { ...SCALING, min: 2 } }, { name: 'a', uid: 'a' });
    const live = { metadata: { namespace: 'team-a', name: 'a', uid: 'a' }, spec: { replicas: 1 } } as never;
    await scaler.settle(model, live, new AbortController().signal);
    expect(written).to.deep.equal({});
    state = 'away';
    await scaler.settle(model, live, new AbortController().signal);
    expect(written).to.deep.equal({ a: 2 });
  });
});
