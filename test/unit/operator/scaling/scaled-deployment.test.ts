import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import {
  ScaledDeployment,
  type ScaledModel,
  type ScalingObservation,
} from '../../../../operator/scaling/scaled-deployment.ts';
import type { DeploymentSample } from '../../../../redis/demand/demand.ts';
import { makeModel } from '../resources/fixtures.ts';

const START = 1_800_000_000_000;
const SCALING = { min: 0, max: 3, stableWindow: '6s', panicWindow: '2s', idleTimeout: '10s' };

const iso = (seconds: number) => new Date(START + seconds * 1_000) as unknown as Date;

/** Scheduled at second 0; ready since `readySince`, if at all. */
function makePod(name: string, readySince?: number): V1Pod {
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: iso(0) }];
  if (readySince !== undefined)
    conditions.push({ type: 'Ready', status: 'True', lastTransitionTime: iso(readySince) });
  return {
    metadata: { name, uid: `uid-${name}`, creationTimestamp: iso(0) },
    spec: { nodeName: 'n1', containers: [] },
    status: { phase: 'Running', conditions },
  };
}

function makeSample(seconds: number, loads: Record<string, number>): DeploymentSample {
  const at = START + seconds * 1_000;
  const common = { boot: 'b', busyMs: 0, arrivals: 0, limit: 4, ready: true, draining: false };
  const replicas = Object.entries(loads).map(([pod, inflight]) => ({
    ...common,
    pod,
    inflight,
    activeAt: START,
    at,
  }));
  return { replicas, fronts: [], jobs: { queued: 0, running: 0, paceMs: null }, at };
}

describe('a scaled deployment', () => {
  let deployment: ScaledDeployment;
  const model = makeModel({ scaling: SCALING }) as ScaledModel;
  beforeEach(() => {
    deployment = new ScaledDeployment(model);
  });

  const look = (
    seconds: number,
    seen: { pods: V1Pod[]; loads?: Record<string, number> } & Partial<ScalingObservation>,
  ) => {
    const { pods, loads = Object.fromEntries(pods.map(({ metadata }) => [metadata!.name!, 0])) } = seen;
    return deployment.decide({
      model,
      live: {
        metadata: { name: 'qwen', namespace: 'team-a' },
        spec: { replicas: pods.length },
      } as ScalingObservation['live'],
      sample: makeSample(seconds, loads),
      current: pods.length,
      draining: [],
      mayProbe: true,
      now: START + seconds * 1_000,
      ...seen,
    });
  };

  it('measures a load once, and not again after a pod was not ready for a moment', () => {
    look(10, { pods: [makePod('p1')] });
    look(30, { pods: [makePod('p1', 30)] });
    expect(deployment.loadTimeMs).to.equal(30_000);
    look(500, { pods: [makePod('p1')] });
    look(502, { pods: [makePod('p1', 501)] });
    expect(deployment.loadTimeMs).to.equal(30_000);
  });

  it('says in the status that engines work on what has timed out, as their replicas tell', () => {
    const pods = [makePod('p1', 1), makePod('p2', 1)];
    const sample = makeSample(10, { p1: 1, p2: 1 });
    sample.replicas[0]!.abandoned = 1;
    look(10, { pods, sample });
    expect(deployment.report.current?.abandoned).to.equal(1);
    expect(deployment.report.current?.reason).to.match(
      /; the GPU is still busy with 1 request that timed out$/,
    );
    look(12, { pods });
    expect(deployment.report.current).not.to.have.property('abandoned');
  });

  it('takes no longer time for a load than a start may take', () => {
    look(90_000, { pods: [makePod('p1')] });
    look(90_002, { pods: [makePod('p1', 90_001)] });
    expect(deployment.loadTimeMs).to.equal(null);
  });

  it('goes to zero once its pods are cordoned and idle for as long as gateways take to know', () => {
    const pods = [makePod('p1', 1), makePod('p2', 1)];
    const looks = [20, 22, 24, 26, 28, 30, 32, 34, 36].map((second) => look(second, { pods })!);
    const from = looks.findIndex(({ decision }) => decision.wanted === 0);
    expect(looks.slice(from, from + 3).map(({ step }) => step.what)).to.deep.equal(['keep', 'keep', 'leave']);
    expect(looks[from]!.isConfigChanged).to.equal(true);
    expect(deployment.cordon.names()).to.deep.equal(['p1', 'p2']);
    look(38, { pods, loads: { p1: 1, p2: 0 } });
    expect(deployment.wanted).to.not.equal(0);
  });

  describe('removes nothing that idleness would', () => {
    const pods = [makePod('p1', 1), makePod('p2', 1)];
    const seconds = [20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40];
    const rolling = {
      metadata: { name: 'qwen', namespace: 'team-a', generation: 2 },
      spec: { replicas: 2 },
      status: { observedGeneration: 1 },
    } as ScalingObservation['live'];
    const draining = (second: number) => {
      const sample = makeSample(second, { p1: 0, p2: 0 });
      sample.replicas[1]!.draining = true;
      return { sample };
    };
    const cases: [string, (second: number) => Partial<Parameters<typeof look>[1]>][] = [
      ['while a ready replica has not reported', () => ({ loads: { p1: 0 } })],
      ['while one of those that report is draining', draining],
      ['during a rollout', () => ({ live: rolling })],
    ];
    for (const [title, seen] of cases)
      it(`${title}, and removes it after that`, () => {
        const looks = seconds.map((second) => look(second, { pods, ...seen(second) })!);
        expect(new Set(looks.map(({ step }) => step.what))).to.deep.equal(new Set(['keep']));
        expect(looks.at(-1)!.decision).to.include({ wanted: 2, isHeld: true });
        expect(deployment.cordon.names()).to.deep.equal([]);
        expect(look(42, { pods })!.decision.wanted).to.equal(0);
        look(44, { pods });
        expect(look(46, { pods })!.step.what).to.equal('leave');
      });
  });

  it('lets its last replica sleep where the engine can, until it has work again', () => {
    const sleeper = makeModel({
      engine: { preset: 'vllm' },
      scaling: { ...SCALING, idle: 'Sleep' },
    }) as ScaledModel;
    const pods = [makePod('p1', 1)];
    const looks = [20, 22, 24, 26, 28, 30].map((second) => look(second, { model: sleeper, pods })!);
    expect(looks.map(({ step }) => step.what)).to.deep.equal(looks.map(() => 'keep'));
    expect(looks.filter(({ isConfigChanged }) => isConfigChanged)).to.have.length(1);
    expect(deployment.sleeping).to.deep.equal(['p1']);
    const sample = makeSample(32, { p1: 0 });
    sample.replicas[0]!.asleep = true;
    expect(look(32, { model: sleeper, pods, sample })!.isStatusChanged).to.equal(true);
    expect(deployment.report.current).to.include({ wanted: 1, asleep: true });
    expect(look(34, { model: sleeper, pods, loads: { p1: 1 } })!.isConfigChanged).to.equal(true);
    expect(deployment.sleeping).to.deep.equal([]);
    expect(deployment.report.current).not.to.have.property('asleep');
  });

  it('is not short as soon as others have drained for its pod, but only once that finds no node then', () => {
    const refusal = { type: 'PodScheduled', status: 'False', lastTransitionTime: iso(0) };
    const refused = {
      metadata: { name: 'p1', uid: 'u1', labels: { 'kueue.x-k8s.io/queue-name': 'gpus' } },
      status: { conditions: [refusal] },
    } as unknown as V1Pod;
    const eviction = { type: 'TerminationTarget', status: 'True', reason: 'WorkloadEvictedDueToPreempted' };
    const leaving = {
      metadata: { name: 'p0', deletionTimestamp: iso(300) },
      spec: { nodeName: 'n1' },
      status: { conditions: [eviction] },
    } as unknown as V1Pod;
    const waitAt = (second: number, draining: V1Pod[]) =>
      look(second, { pods: [refused], loads: {}, draining })!.counts.unschedulableMs;
    expect(waitAt(200, [leaving])).to.equal(0);
    expect(waitAt(202, [])).to.equal(2_000);
  });

  it('decides nothing by a sample that is not newer', () => {
    const pods = [makePod('p1', 1)];
    expect(look(10, { pods })).to.not.equal(undefined);
    expect(look(10, { pods })).to.equal(undefined);
    expect(look(9, { pods })).to.equal(undefined);
  });
});
