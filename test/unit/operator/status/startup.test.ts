import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { ModelStartup } from '../../../../api/model-startup.ts';
import { describeStartup } from '../../../../operator/status/startup.ts';

const START = Date.parse('2026-01-01T12:00:00Z');
const at = (seconds: number) => new Date(START + seconds * 1_000);
const iso = (seconds: number) => at(seconds).toISOString().replace('.000Z', 'Z');

interface Times {
  name?: string;
  created?: number;
  scheduled?: number;
  gateway?: number;
  /** Undefined: it has no init container for weights. */
  weights?: number | 'loading';
  engine?: number;
  ready?: number;
  restarts?: number;
}

function makePod({ name = 'qwen-1', created = 0, ...times }: Times): V1Pod {
  const condition = (type: string, seconds: number | undefined) =>
    seconds === undefined ? [] : [{ type, status: 'True', lastTransitionTime: at(seconds) }];
  const running = (startedAt: number | undefined) =>
    startedAt === undefined ? { waiting: {} } : { running: { startedAt: at(startedAt) } };
  const container = (of: string, state: V1ContainerStatus['state']) =>
    ({ name: of, state, restartCount: times.restarts ?? 0 }) as V1ContainerStatus;
  const { weights } = times;
  const loaded =
    typeof weights === 'number' ? { terminated: { exitCode: 0, finishedAt: at(weights) } } : { running: {} };
  return {
    metadata: { name, creationTimestamp: at(created) },
    spec: {
      initContainers: [{ name: 'gateway' }, ...(weights === undefined ? [] : [{ name: 'weights' }])],
      containers: [],
    },
    status: {
      conditions: [...condition('PodScheduled', times.scheduled), ...condition('Ready', times.ready)],
      initContainerStatuses: [
        container('gateway', running(times.gateway)),
        ...(weights === undefined ? [] : [container('weights', loaded)]),
      ],
      containerStatuses: [container('engine', running(times.engine))],
    },
  };
}

const describeOf = (times: Times, before?: ModelStartup) =>
  describeStartup({ pods: [makePod(times)] }, before);

describe('the last start of a replica', () => {
  const WHOLE: Times = { scheduled: 1, gateway: 3, weights: 43, engine: 58, ready: 90 };

  it('is told stage by stage, with times', () => {
    expect(describeOf(WHOLE)).to.deep.equal({
      pod: 'qwen-1',
      createdAt: iso(0),
      stages: [
        { stage: 'Scheduled', at: iso(1), took: '1s' },
        { stage: 'Prepared', at: iso(3), took: '2s' },
        { stage: 'WeightsLoaded', at: iso(43), took: '40s' },
        { stage: 'EngineStarted', at: iso(58), took: '15s' },
        { stage: 'Ready', at: iso(90), took: '32s' },
      ],
      took: '90s',
    });
  });

  for (const [times, current] of [
    [{}, { stage: 'Scheduled', since: iso(0) }],
    [{ scheduled: 1 }, { stage: 'Prepared', since: iso(1) }],
    [
      { scheduled: 1, gateway: 3, weights: 'loading' },
      { stage: 'WeightsLoaded', since: iso(3) },
    ],
    [
      { scheduled: 1, gateway: 3 },
      { stage: 'EngineStarted', since: iso(3) },
    ],
    [
      { scheduled: 1, gateway: 3, weights: 43 },
      { stage: 'EngineStarted', since: iso(43) },
    ],
    [
      { scheduled: 1, gateway: 3, engine: 5 },
      { stage: 'Ready', since: iso(5) },
    ],
    // The sidecar of a mesh never ends.
    [
      { scheduled: 1, gateway: 3, weights: 'loading', engine: 5 },
      { stage: 'Ready', since: iso(5) },
    ],
  ] as [Times, object][])
    it(`tells what it waits for, and since when: ${JSON.stringify(current)}`, () => {
      const startup = describeStartup({ pods: [makePod(times)], scaling: { loadTime: '85s' } }, undefined);
      expect(startup).to.deep.include({ current, expected: '85s' });
      expect(startup).not.to.have.property('took');
    });

  it('is measured once, whatever becomes of the pod', () => {
    const before = describeOf(WHOLE);
    expect(describeOf({ ...WHOLE, engine: 500, ready: 530, restarts: 1 }, before)).to.equal(before);
    expect(describeOf({ ...WHOLE, ready: undefined }, before)).to.equal(before);
    expect(describeStartup({ pods: [] }, before)).to.equal(before);
  });

  it('is that of the newest pod, and expected to take as long as the one before', () => {
    const before = describeOf(WHOLE);
    const pods = [makePod(WHOLE), makePod({ name: 'qwen-2', created: 200, scheduled: 201 })];
    const startup = describeStartup({ pods }, before);
    expect(startup).to.include({ pod: 'qwen-2', expected: '90s' });
    expect(startup?.current).to.deep.equal({ stage: 'Prepared', since: iso(201) });
  });

  it('is not guessed of a pod whose engine was restarted before anybody looked', () => {
    expect(describeOf({ ...WHOLE, restarts: 2 })).to.equal(undefined);
  });
});
