import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { DeploymentSample } from '../../../../redis/demand/demand.ts';
import { DemandTrend } from '../../../../redis/demand/demand-trend.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const START = 1_800_000_000_000;

interface Shown {
  boot?: string;
  busyMs?: number;
  arrivals?: number;
  inflight?: number;
  front?: Partial<DeploymentSample['fronts'][number]>;
  queued?: number;
  replicas?: DeploymentSample['replicas'];
}

function sample(seconds: number, shown: Shown = {}): DeploymentSample {
  const at = START + seconds * 1_000;
  const { boot = 'a', busyMs = 0, arrivals = 0, inflight = 0, front, queued = 0 } = shown;
  const replica = { pod: 'p1', boot, busyMs, arrivals, inflight, limit: 4, ready: true, draining: false };
  return {
    replicas: shown.replicas ?? [{ ...replica, activeAt: START, at }],
    fronts: front
      ? [{ front: 'f1', boot: 'f', held: 0, heldMs: 0, refused: 0, wantedAt: 0, at, ...front }]
      : [],
    jobs: { queued, running: 0, paceMs: null },
    at,
  };
}

const makeTrend = () => new DemandTrend({ stableMs: 60_000, panicMs: 6_000, retentionMs: 60_000 });

describe('demand from counters', () => {
  it('is exact over any window, however many samples were lost', () => {
    const [all, few] = [makeTrend(), makeTrend()];
    for (let second = 0; second <= 80; second += 2) {
      // Three requests in progress from second 20 on.
      const seen = sample(second, { busyMs: Math.max(0, second - 20) * 3_000 });
      all.add(seen);
      if (second % 20 === 0) few.add(seen);
    }
    expect(all.average(60_000)).to.be.closeTo(3, 1e-9);
    expect(few.average(60_000)).to.be.closeTo(3, 1e-9);
    expect(all.average(6_000)).to.be.closeTo(3, 1e-9);
  });

  it('is not known before a window was seen', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 58; second += 2) trend.add(sample(second, { busyMs: second * 1_000 }));
    expect(trend.average(60_000)).to.equal(undefined);
    expect(trend.peak(60_000)).to.equal(undefined);
    expect(trend.average(6_000)).to.be.closeTo(1, 1e-9);
  });

  it('begins again after a gap in which nothing is known', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 60; second += 2) trend.add(sample(second));
    trend.add(sample(120));
    expect(trend.spanMs).to.equal(0);
    expect(trend.average(6_000)).to.equal(undefined);
  });

  it('counts what a replica did since it restarted, and takes back nothing', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 10; second += 2)
      trend.add(sample(second, { busyMs: 500_000 + second * 1_000 }));
    trend.add(sample(12, { boot: 'b', busyMs: 1_000 }));
    expect(trend.average(6_000)).to.be.closeTo((4_000 + 1_000) / 6_000, 1e-9);
  });

  it('takes no more of an unknown replica than it can have done since the last sample', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 8; second += 2) trend.add(sample(second, { replicas: [] }));
    trend.add(sample(10, { busyMs: 9e12 }));
    expect(trend.average(6_000)).to.be.at.most((4 * 2_000) / 6_000);
  });

  it('adds what is held, and what was refused as long as it would have taken', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 6; second += 2)
      trend.add(sample(second, { busyMs: second * 1_000, arrivals: second / 2, front: {} }));
    // A request takes 2 s; 3 were refused, and 2 are held for a second each.
    trend.add(sample(8, { busyMs: 6_000, arrivals: 3, front: { held: 2, heldMs: 2_000, refused: 3 } }));
    expect(trend.average(6_000)).to.be.closeTo((4_000 + 2_000 + 3 * 2_000) / 6_000, 1e-9);
    expect(trend.isWanted).to.equal(true);
  });

  it('knows since when nothing was asked, from before the operator started', () => {
    const trend = makeTrend();
    trend.add(sample(300));
    expect(trend.idleMs).to.equal(300_000);
    trend.add(sample(302, { inflight: 1 }));
    expect(trend.idleMs).to.equal(0);
    trend.add(sample(304, { queued: 1 }));
    trend.add(sample(310));
    expect(trend.idleMs).to.equal(6_000);
  });

  it('remembers the highest average of half a window, and forgets it after', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 120; second += 2) {
      const busySeconds = Math.min(30, Math.max(0, second - 20));
      trend.add(sample(second, { busyMs: busySeconds * 5_000 }));
      if (second === 80) expect(trend.peak(60_000)).to.be.closeTo(5, 1e-9);
    }
    expect(trend.peak(60_000)).to.equal(0);
  });

  it('keeps few points of a long window', () => {
    const trend = new DemandTrend({ stableMs: 3_600_000, panicMs: 600_000, retentionMs: 86_400_000 });
    for (let second = 0; second <= 4_000; second += 2) trend.add(sample(second, { busyMs: second * 2_000 }));
    expect(trend.average(3_600_000)).to.be.closeTo(2, 1e-9);
    expect(trend.average(600_000)).to.be.closeTo(2, 1e-9);
  });

  it("begins again when Redis' clock goes back, and tells nothing of a sample that is not newer", () => {
    const trend = makeTrend();
    for (let second = 600; second <= 700; second += 2) trend.add(sample(second));
    expect(trend.takes(START + 699_000)).to.equal(false);
    trend.add(sample(699));
    expect(trend.spanMs).to.equal(100_000);
    expect(trend.takes(START)).to.equal(true);
    trend.add(sample(0));
    expect(trend.spanMs).to.equal(0);
    trend.add(sample(2, { inflight: 3 }));
    expect(trend.idleMs).to.equal(0);
  });

  it('keeps what it knows when peaks are needed for longer, and says so once they are known', () => {
    const trend = makeTrend();
    for (let second = 0; second <= 100; second += 2) trend.add(sample(second, { busyMs: second * 2_000 }));
    trend.retain(90_000);
    expect(trend.average(60_000)).to.be.closeTo(2, 1e-9);
    expect(trend.peak(60_000)).to.be.closeTo(2, 1e-9);
    expect(trend.peak(90_000), 'of 60 s only').to.equal(undefined);
    for (let second = 102; second <= 130; second += 2) trend.add(sample(second, { busyMs: 200_000 }));
    expect(trend.peak(90_000)).to.be.closeTo(2, 1e-9);
  });

  it('keeps the counters of replicas that are there when many others have been', () => {
    const trend = makeTrend();
    const [replica] = sample(0).replicas;
    const gone = (second: number) =>
      Array.from({ length: 400 }, (_, index) => ({ ...replica!, pod: `gone-${second}-${index}` }));
    for (let second = 0; second <= 40; second += 2)
      trend.add(
        sample(second, { replicas: [{ ...replica!, busyMs: 9e9 + second * 1_000 }, ...gone(second)] }),
      );
    expect(trend.average(6_000)).to.be.closeTo(1, 1e-9);
  });

  it('keeps a want for a minute while no replica is ready', () => {
    const trend = makeTrend();
    const front = { wantedAt: START + 100_000 };
    trend.add(sample(140, { front, replicas: [] }));
    expect(trend.isWanted).to.equal(true);
    trend.add(sample(142, { front }));
    expect(trend.isWanted, 'with a ready replica').to.equal(false);
    trend.add(sample(162, { front, replicas: [] }));
    expect(trend.isWanted).to.equal(false);
    expect(trend.idleMs, 'since it was wanted').to.equal(62_000);
  });

  it('forgets a want that a replica was there for, also once that replica is gone', () => {
    const trend = makeTrend();
    const front = { wantedAt: START + 100_000 };
    trend.add(sample(102, { front, replicas: [] }));
    trend.add(sample(104, { front }));
    trend.add(sample(106, { front }));
    trend.add(sample(120, { front, replicas: [] }));
    expect(trend.isWanted).to.equal(false);
    trend.add(sample(122, { front: { wantedAt: START + 121_000 }, replicas: [] }));
    expect(trend.isWanted, 'by another request').to.equal(true);
  });

  describe('where engines have queues of their own', () => {
    /** Samples of one replica every 2 s; `waiting`: undefined if unknown. */
    const addQueue = (
      trend: DemandTrend,
      { from, to, ...shown }: { from: number; to: number; inflight: number; waiting?: number | undefined },
    ) => {
      for (let second = from; second <= to; second += 2) {
        const [replica] = sample(second).replicas;
        trend.add(sample(second, { replicas: [{ ...replica!, ...shown }] }));
      }
    };

    it('knows what they run at a time, once that has lasted', () => {
      const trend = makeTrend();
      addQueue(trend, { from: 0, to: 8, inflight: 12, waiting: 8 });
      expect(trend.engineLimit).to.equal(undefined);
      addQueue(trend, { from: 10, to: 20, inflight: 12, waiting: 8 });
      expect(trend.engineLimit).to.be.closeTo(4, 1e-9);
      expect(trend.queuedInEngines).to.equal(8);
    });

    it('remembers it for half an hour without a queue', () => {
      const trend = makeTrend();
      addQueue(trend, { from: 0, to: 60, inflight: 12, waiting: 8 });
      addQueue(trend, { from: 62, to: 1_860, inflight: 4, waiting: 0 });
      expect(trend.engineLimit).to.be.closeTo(4, 1e-9);
      expect(trend.queuedInEngines).to.equal(0);
      addQueue(trend, { from: 1_862, to: 1_870, inflight: 4, waiting: 0 });
      expect(trend.engineLimit).to.equal(undefined);
    });

    it('learns from those that run more with nobody waiting, as with shorter prompts', () => {
      const trend = makeTrend();
      addQueue(trend, { from: 0, to: 60, inflight: 12, waiting: 8 });
      addQueue(trend, { from: 62, to: 100, inflight: 16, waiting: undefined });
      expect(trend.engineLimit, 'not known').to.be.closeTo(4, 1e-9);
      addQueue(trend, { from: 102, to: 150, inflight: 16, waiting: 0 });
      expect(trend.engineLimit).to.be.within(8, 12);
      addQueue(trend, { from: 152, to: 600, inflight: 16, waiting: 0 });
      expect(trend.engineLimit, 'refuted').to.equal(undefined);
    });

    it('learns nothing from replicas that drain, and after long gaps for no more than some seconds', () => {
      const trend = makeTrend();
      const [replica] = sample(0).replicas;
      const full = { ...replica!, inflight: 12, waiting: 8 };
      for (let second = 0; second <= 60; second += 2)
        trend.add(sample(second, { replicas: [{ ...full, draining: true }] }));
      expect(trend.engineLimit).to.equal(undefined);
      trend.add(sample(85, { replicas: [full] }));
      expect(trend.engineLimit).to.equal(undefined);
    });
  });

  it('keeps no more of those that are gone than of those that are there, whatever a tenant says', () => {
    const speakers = (second: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        ...sample(second).replicas[0]!,
        pod: `pod-${second}-${index}`.padEnd(100, 'x'),
      }));
    const makeUsed = () => {
      const trend = makeTrend();
      for (let second = 0; second < 100; second += 2)
        trend.add(sample(second, { replicas: speakers(second, second < 90 ? 100 : 2) }));
      return trend;
    };
    makeUsed();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const trends = Array.from({ length: 50 }, makeUsed);
    collectGarbage();
    expect((process.memoryUsage().heapUsed - before) / trends.length).to.be.below(64 * 1024);
  });
});
