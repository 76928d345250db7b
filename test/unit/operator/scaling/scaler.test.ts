import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { ModelDeployment } from '../../../../api/model-deployment.ts';
import { DemandSampler, type DemandSamplerOptions } from '../../../../operator/scaling/demand-sampler.ts';
import type { WrittenChange } from '../../../../operator/scaling/replica-writer.ts';
import { ScaledDeployments } from '../../../../operator/scaling/scaled-deployments.ts';
import { Scaler, type ScalerOptions } from '../../../../operator/scaling/scaler.ts';
import type { CountReplicas, DeploymentSample } from '../../../../redis/demand/demand.ts';
import { settle } from '../../../support/fake-clock.ts';
import { makeModel } from '../resources/fixtures.ts';

const START = 1_800_000_000_000;
const SCALING = { min: 0, max: 3, stableWindow: '6s', panicWindow: '2s', idleTimeout: '10s' };

interface Deployment {
  replicas: number;
  pods?: V1Pod[];
  scaling?: object;
  isPaused?: boolean;
  status?: object;
  sample?: Partial<DeploymentSample>;
}

describe('the scaler', () => {
  let time: number;
  let state: 'up' | 'away';
  /** By key. */
  let deployments: Map<string, Deployment>;
  let written: Record<string, number>;
  let changes: WrittenChange[];
  let enqueued: string[];
  /** Keys of each call. */
  let reads: string[][];
  /** Replica counts of the last read. */
  let counts: number[];
  let scaler: Scaler;
  let demand: DemandSampler;
  /** Runs once Redis has read, before the answer is there. */
  let onRead: () => void;

  beforeEach(() => {
    onRead = () => {};
    [time, state, written, changes, enqueued, reads] = [START, 'up', {}, [], [], []];
    deployments = new Map();
    const parsed = new WeakMap<Deployment, object>();
    const models = {
      namespaces: () => ['all'],
      keys: () => [...deployments.keys()],
      // Parsed once, as in the store.
      get: (key: string) => {
        const known = parsed.get(deployments.get(key)!) ?? { ok: true, value: modelOf(key) };
        if (deployments.get(key)!.isPaused) return { ok: true, value: modelOf(key) };
        parsed.set(deployments.get(key)!, known);
        return known;
      },
      isLeaving: () => false,
    };
    scaler = new Scaler({
      deployments: new ScaledDeployments(),
      client: {
        apply: (
          _: unknown,
          { metadata, spec }: { metadata: { namespace: string; name: string }; spec: { replicas: number } },
        ) => {
          written[`${metadata.namespace}/${metadata.name}`] = spec.replicas;
          return Promise.resolve({ metadata: { generation: 1 } });
        },
        mergePatch: () => Promise.resolve({}),
      },
      view: {
        deployments: {
          get: (key: string) => {
            const [namespace, name] = key.split('/');
            return {
              metadata: { namespace, name, uid: key },
              spec: { replicas: deployments.get(key)!.replicas },
            };
          },
        },
        pods: { byIndex: (_: string, key: string) => deployments.get(key)?.pods ?? [] },
      },
      models,
      isRedisAway: () => state === 'away',
      publisher: { mark: () => {} },
      enqueue: (key: string) => enqueued.push(key),
      log: { info: () => {}, warn: () => {} },
      now: () => time,
      onWritten: (_: string, change: WrittenChange) => changes.push(change),
    } as unknown as ScalerOptions);
    demand = new DemandSampler({
      scaler,
      history: { observe: () => {}, flush: () => Promise.resolve() },
      models,
      connection: {
        get state() {
          return state;
        },
      },
      log: { info: () => {}, warn: () => {} },
      now: () => time,
      read: (_: unknown, keys: readonly string[], countReplicas: CountReplicas) => {
        reads.push([...keys]);
        counts = keys.map(countReplicas);
        const samples = new Map(keys.map((key) => [key, sampleOf(key)]));
        onRead();
        return Promise.resolve(samples);
      },
    } as unknown as DemandSamplerOptions);
  });

  const sampleOf = (key: string) =>
    ({
      replicas: [],
      fronts: [],
      jobs: { queued: 0, running: 0, paceMs: null },
      at: time,
      ...deployments.get(key)!.sample,
    }) as DeploymentSample;
  const modelOf = (key: string) => {
    const [namespace = '', name = ''] = key.split('/');
    const { scaling = SCALING, status, isPaused = false } = deployments.get(key)!;
    const model = makeModel({ scaling, paused: isPaused }, { namespace, name, uid: key });
    return (status ? { ...model, status } : model) as ModelDeployment;
  };
  const QUEUED = { jobs: { queued: 1, running: 0, paceMs: null } };
  /** One that is ready and idle. */
  const rest = (key: string): Deployment => {
    const at = new Date(START - 3_600_000) as unknown as string;
    const pod = `${key.replace('/', '-')}-1`;
    const conditions = ['PodScheduled', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: at,
    }));
    const own = {
      pod,
      boot: 'b',
      busyMs: 0,
      arrivals: 0,
      inflight: 0,
      limit: 4,
      ready: true,
      draining: false,
    };
    return {
      replicas: 1,
      scaling: { ...SCALING, min: 1 },
      pods: [
        {
          metadata: { name: pod, uid: pod, creationTimestamp: at },
          spec: { nodeName: 'n1', containers: [] },
          status: { phase: 'Running', conditions },
        } as unknown as V1Pod,
      ],
      sample: { replicas: [{ ...own, activeAt: START - 60_000, at: START }] },
    };
  };
  const look = async (seconds: number) => {
    time += seconds * 1_000;
    await demand.sample();
    await settle();
  };

  it('reads no more heartbeats of a deployment than its pods can send', async () => {
    deployments = new Map([
      ['team-a/a', rest('team-a/a')],
      ['team-a/b', { replicas: 0, sample: QUEUED }],
    ]);
    await look(0);
    expect(reads).to.deep.equal([['team-a/a', 'team-a/b']]);
    expect(counts).to.deep.equal([1, 0]);
  });

  it('scales others where one cannot be judged', async () => {
    deployments = new Map<string, Deployment>([
      ['team-a/a', { replicas: 0, sample: { ...QUEUED, replicas: null as never } }],
      ['team-a/b', { replicas: 0, sample: QUEUED }],
    ]);
    await look(0);
    expect(written).to.have.property('team-a/b', 1);
  });

  it('keeps the minimum while Redis is away, where it was raised', async () => {
    deployments = new Map([['team-a/a', { replicas: 1, scaling: { ...SCALING, min: 2 } }]]);
    const model = modelOf('team-a/a');
    const live = {
      metadata: { namespace: 'team-a', name: 'a', uid: 'team-a/a' },
      spec: { replicas: 1 },
    } as never;
    await scaler.settle(model, live, new AbortController().signal);
    expect(written).to.deep.equal({});
    state = 'away';
    await scaler.settle(model, live, new AbortController().signal);
    expect(written).to.deep.equal({ 'team-a/a': 2 });
    expect(changes[0]).to.include({ from: 1, to: 2, cause: 'minimum' });
  });

  it('reads 1,000 workspaces at rest in ten calls every time, and writes nothing', async () => {
    for (let i = 0; i < 1_000; i++) deployments.set(`team-${i}/chat`, rest(`team-${i}/chat`));
    for (let second = 0; second < 20; second += 2) await look(2);
    expect(reads).to.have.length(100);
    expect(Math.max(...reads.map((keys) => keys.length))).to.equal(100);
    expect(written).to.deep.equal({});
    // Each gets its first status.
    expect(enqueued).to.have.length(1_000);
  });

  it('reads at most 200 sleeping deployments a second on average, and one that is woken at once', async () => {
    for (let i = 0; i < 1_000; i++) deployments.set(`team-${i}/chat`, { replicas: 0 });
    await look(0);
    reads = [];
    for (let second = 0; second < 100; second += 2) await look(2);
    const count = reads.flat().length;
    expect(count).to.be.within(14_000, 20_500);
    deployments.get('team-7/chat')!.sample = QUEUED;
    await look(2);
    await look(20);
    expect(written).to.deep.equal({ 'team-7/chat': 1 });
  });

  it('says that one is at zero where the last leader did not come to it', async () => {
    const said = { demand: 3, wanted: 2, needed: 2, reason: 'demand 3 needs 2 replicas' };
    deployments = new Map([['team-a/a', { replicas: 0, status: { scaling: said } }]]);
    await look(0);
    expect(scaler.statusOf(modelOf('team-a/a'))).to.deep.include({ wanted: 0, needed: 0, demand: 0 });
    expect(enqueued).to.deep.equal(['team-a/a']);
    await look(20);
    expect(enqueued).to.have.length(1);
  });

  describe('where a pod finds no node', () => {
    const names = ['first', 'second', 'third'];
    const wake = (name: string) => {
      time += 100;
      scaler.wake(`team-a/${name}`);
    };
    beforeEach(async () => {
      const conditions = [
        { type: 'PodScheduled', status: 'False', lastTransitionTime: new Date(START - 20_000) as never },
      ];
      const pod = { metadata: { name: 'p', uid: 'p' }, spec: { containers: [] }, status: { conditions } };
      deployments = new Map<string, Deployment>([
        ['team-b/refused', { replicas: 1, pods: [pod], sample: QUEUED }],
        ...names.map((name): [string, Deployment] => [`team-a/${name}`, { replicas: 0 }]),
      ]);
      await look(0);
      await look(6);
    });
    /** Now samples show the requests, too. */
    const lookAgain = () => {
      for (const name of names) deployments.get(`team-a/${name}`)!.sample = QUEUED;
      return look(2);
    };

    it('keeps the place of one that is woken while its sample of before is on its way', async () => {
      onRead = () => scaler.wake('team-a/first');
      await look(6);
      onRead = () => {};
      wake('second');
      wake('third');
      await lookAgain();
      expect(written).to.deep.equal({ 'team-a/first': 1, 'team-a/second': 1 });
    });

    it('tries pods in the order of their requests', async () => {
      wake('third');
      wake('first');
      await lookAgain();
      expect(Object.keys(written)).to.deep.equal(['team-a/third', 'team-a/first']);
    });
  });

  it('tells of a change once, when it is written', async () => {
    deployments = new Map([['team-a/a', { replicas: 0, sample: QUEUED }]]);
    await look(0);
    await look(2);
    await look(2);
    expect(changes).to.deep.equal([
      { from: 0, to: 1, reason: 'demand 1 with 1 queued needs 1 replica at 16 each', cause: 'queue' },
    ]);
  });

  it('shows what it sees and wants of each', async () => {
    deployments = new Map([['team-a/a', rest('team-a/a')]]);
    await look(0);
    time += 3_000;
    expect(scaler.list()).to.deep.equal([
      { namespace: 'team-a', name: 'a', wanted: 1, ready: 1, demand: 0, held: 0, ageMs: 3_000 },
    ]);
  });

  it('shows nothing of one that is paused or gone', async () => {
    deployments = new Map([
      ['team-a/a', rest('team-a/a')],
      ['team-a/b', rest('team-a/b')],
    ]);
    await look(0);
    expect(scaler.list()).to.have.length(2);
    deployments.get('team-a/a')!.isPaused = true;
    scaler.delete('team-a/b');
    deployments.delete('team-a/b');
    await look(2);
    expect(scaler.list()).to.deep.equal([]);
  });
});
