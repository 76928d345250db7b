import { expect } from 'chai';
import { decideScale } from '../../../../operator/scaling/decision.ts';
import type { PodCounts, ScaleMemory, ScalingRules } from '../../../../operator/scaling/scale-question.ts';
import type { DemandReading } from '../../../../redis/demand/demand-trend.ts';

const NOW = 1_800_000_000_000;
const RULES: ScalingRules = {
  min: 0,
  max: 10,
  target: 10,
  stableMs: 60_000,
  panicMs: 6_000,
  idleMs: 600_000,
  targetWaitMs: 60_000,
};

interface Case {
  /** Averages: of the stable window, and of the short one if that differs. */
  stable?: number | undefined;
  short?: number | undefined;
  peak?: number | undefined;
  idleMs?: number;
  isWanted?: boolean;
  jobs?: DemandReading['jobs'];
  queuedInEngines?: number;
  engineLimit?: number;
  pods?: Partial<PodCounts>;
  rules?: Partial<ScalingRules>;
  loadTimeMs?: number | null;
  holdDown?: string;
  mayProbe?: boolean;
  memory?: ScaleMemory;
}

function decide(given: Case) {
  const { stable, short = stable } = given;
  const peak = 'peak' in given ? given.peak : short;
  const demand: DemandReading = {
    average: (windowMs) => (windowMs <= RULES.panicMs ? short : stable),
    peak: () => peak,
    spanMs: 600_000,
    idleMs: given.idleMs ?? 0,
    isWanted: given.isWanted ?? false,
    jobs: given.jobs ?? { queued: 0, running: 0, paceMs: null },
    queuedInEngines: given.queuedInEngines ?? 0,
    engineLimit: given.engineLimit,
  };
  const ready = given.pods?.ready ?? given.pods?.wanted ?? 1;
  const pods = {
    wanted: ready,
    ready,
    starting: 0,
    broken: 0,
    gated: 0,
    unscheduled: 0,
    unschedulableMs: 0,
    ...given.pods,
  };
  return decideScale({
    rules: { ...RULES, ...given.rules },
    demand,
    pods,
    loadTimeMs: given.loadTimeMs === undefined ? 20_000 : given.loadTimeMs,
    holdDown: given.holdDown,
    mayProbe: given.mayProbe ?? true,
    memory: given.memory ?? {},
    now: NOW,
  });
}

/** A shortage that has lasted long enough for any load time. */
const lasting: ScaleMemory = { lackSince: NOW - 60_000 };

describe('the scaling decision', () => {
  describe('the sleep of the last replica', () => {
    const rules = { sleeps: true };

    it('takes the place of its end, after the idle time alone', () => {
      const idle = { rules, stable: 0, peak: 0, loadTimeMs: 900_000 };
      expect(decide({ ...idle, idleMs: 599_000 })).to.include({ wanted: 1, maySleep: false });
      const { wanted, needed, maySleep, reason } = decide({ ...idle, idleMs: 600_000 });
      expect({ wanted, needed, maySleep }).to.deep.equal({ wanted: 1, needed: 1, maySleep: true });
      expect(reason).to.equal('idle for 10 min: the last replica sleeps');
    });

    it('is not while somebody waits, a rollout is under way, or not enough was seen', () => {
      const idle = { rules, stable: 0, peak: 0, idleMs: 600_000 };
      for (const given of [
        { isWanted: true },
        { holdDown: 'a rollout' },
        { peak: undefined },
        { pods: { starting: 1 } },
      ])
        expect(decide({ ...idle, ...given }).maySleep, JSON.stringify(given)).to.equal(false);
    });

    it('comes after the others have gone', () => {
      const { wanted } = decide({
        rules,
        stable: 0,
        peak: 0,
        idleMs: 600_000,
        pods: { wanted: 3, ready: 3 },
      });
      expect(wanted).to.equal(1);
    });
  });

  describe('how many', () => {
    it('wants as many as the average demand fills, with the numbers in the reason', () => {
      const { wanted, reason } = decide({ stable: 31, pods: { wanted: 2 }, memory: lasting });
      expect(wanted).to.equal(4);
      expect(reason).to.equal('demand 31 (average of 60 s) needs 4 replicas at 10 each');
    });

    it('wants as many as engines run that are full with less than the target, and says so', () => {
      const full = { stable: 12, peak: 12, engineLimit: 4, queuedInEngines: 8, memory: lasting };
      const { wanted, reason } = decide(full);
      expect(wanted).to.equal(3);
      expect(reason).to.equal(
        'demand 12 (average of 60 s) needs 3 replicas at 4 each (an engine runs no more at a time; 8 wait within engines)',
      );
      const calm = { ...full, queuedInEngines: 0, pods: { wanted: 3 } };
      expect(decide(calm).wanted, 'while nobody waits').to.equal(3);
      const less = decide({ ...calm, stable: 5, short: 5, peak: 5 });
      expect(less.wanted).to.equal(2);
      expect(less.reason).to.equal(
        'peak demand 5 of the last 60 s needs 2 replicas at 4 each (an engine runs no more at a time)',
      );
    });

    it('multiplies by what engines say no more than eightfold, and never takes it for more than the target', () => {
      expect(decide({ stable: 9, engineLimit: 0.1, memory: lasting }).wanted).to.equal(8);
      expect(decide({ stable: 12, engineLimit: 40, memory: lasting }).wanted).to.equal(2);
    });

    it('does not multiply by what is ready, so that starting replicas add no others', () => {
      const starting = { wanted: 4, ready: 1, starting: 3 };
      expect(decide({ stable: 31, short: 31, pods: starting, memory: lasting }).wanted).to.equal(4);
    });

    it('takes the short average in a burst of twice what is ready', () => {
      const { wanted, reason } = decide({ stable: 10, short: 40, pods: { wanted: 1 }, memory: lasting });
      expect(wanted).to.equal(5);
      expect(reason).to.include('in a burst');
    });

    it('stays within min and max, and says so', () => {
      const capped = decide({ stable: 500, pods: { wanted: 9 }, memory: lasting });
      expect(capped).to.include({ wanted: 10 });
      expect(capped.reason).to.include('at most 10 allowed');
      const least = decide({ stable: 0, pods: { wanted: 0 }, rules: { min: 3 } });
      expect(least).to.include({ wanted: 3, reason: 'at least 3 replicas configured' });
    });
  });

  describe('jobs', () => {
    const queueOf = (queued: number, paceMs: number | null) => ({ queued, running: 1, paceMs });
    const media = { target: 1 };

    it('adds what works the queue off within the wait that is wanted', () => {
      const { wanted, reason } = decide({
        stable: 1,
        jobs: queueOf(12, 15_000),
        rules: media,
        memory: lasting,
      });
      expect(wanted).to.equal(4);
      expect(reason).to.equal('demand 4 with 12 queued (3 min of work) needs 4 replicas at 1 each');
    });

    it('adds no replica that would come after the queue is gone', () => {
      const jobs = queueOf(12, 15_000);
      expect(decide({ stable: 1, jobs, rules: media, loadTimeMs: 400_000, memory: lasting }).wanted).to.equal(
        1,
      );
    });

    it('wakes for a queue whose pace nobody knows yet', () => {
      const jobs = queueOf(5, null);
      expect(decide({ stable: 0, isWanted: true, jobs, rules: media, pods: { wanted: 0 } }).wanted).to.equal(
        1,
      );
    });
  });

  describe('up', () => {
    it('goes from zero to one at once', () => {
      const { wanted, reason } = decide({ isWanted: true, pods: { wanted: 0 } });
      expect({ wanted, reason }).to.deep.equal({
        wanted: 1,
        reason: 'a request waits for the first replica',
      });
    });

    it('waits until a lack has lasted a thirtieth of the load time', () => {
      const first = decide({ stable: 25, pods: { wanted: 2 }, loadTimeMs: 300_000 });
      expect(first).to.deep.include({ wanted: 2, recheckAfterMs: 10_000 });
      expect(first.memory.lackSince).to.equal(NOW);
      const memory = { lackSince: NOW - 9_999 };
      expect(decide({ stable: 25, pods: { wanted: 2 }, loadTimeMs: 300_000, memory }).wanted).to.equal(2);
      memory.lackSince = NOW - 10_000;
      expect(decide({ stable: 25, pods: { wanted: 2 }, loadTimeMs: 300_000, memory }).wanted).to.equal(3);
    });

    it('waits for 2 s at least and 60 s at most', () => {
      const wait = (loadTimeMs: number | null) =>
        decide({ stable: 25, pods: { wanted: 2 }, loadTimeMs }).recheckAfterMs;
      expect([null, 5_000, 3_600_000].map(wait)).to.deep.equal([2_000, 2_000, 60_000]);
    });

    it('forgets a lack that is over', () => {
      expect(decide({ stable: 15, pods: { wanted: 2 }, memory: lasting }).memory.lackSince).to.equal(
        undefined,
      );
    });
  });

  describe('down', () => {
    it('goes to the peak of the window, with room to spare', () => {
      const { wanted, reason } = decide({ stable: 12, short: 12, peak: 15, pods: { wanted: 5 } });
      expect(wanted).to.equal(2);
      expect(reason).to.equal('peak demand 15 of the last 60 s needs 2 replicas at 10 each');
    });

    it('waits for a moment while the short average says that the fall goes on', () => {
      const falling = { stable: 12, short: 5, peak: 15, pods: { wanted: 5 } };
      const { wanted, isHeld, memory } = decide(falling);
      expect({ wanted, isHeld, memory }).to.deep.include({ wanted: 5, isHeld: true });
      expect(memory.surplusSince).to.equal(NOW);
      expect(decide({ ...falling, memory: { surplusSince: NOW - 30_000 } }).wanted).to.equal(2);
    });

    it('stays where chance would soon exceed what the peak leaves', () => {
      // The root of 16 is 4.
      expect(decide({ stable: 16, peak: 16, pods: { wanted: 3 } }).wanted).to.equal(2);
      expect(decide({ stable: 17, peak: 17, pods: { wanted: 3 } }).wanted).to.equal(3);
    });

    for (const [name, change] of Object.entries<Partial<Case>>({
      'a window has not been seen yet, as after a restart': { peak: undefined, short: undefined },
      'a replica is starting': { pods: { wanted: 3, ready: 2, starting: 1 } },
      'a rollout is under way': { holdDown: 'a rollout is under way' },
      'the load is rising': { stable: 5, short: 6, peak: 6 },
    }))
      it(`stays while ${name}`, () => {
        expect(decide({ stable: 5, pods: { wanted: 3 }, ...change }).wanted).to.equal(3);
      });

    it('goes to zero after the idle time, or the load time where that is longer', () => {
      const idle = { stable: 0, pods: { wanted: 1 } };
      expect(decide({ ...idle, idleMs: 600_000 })).to.include({ wanted: 0, reason: 'idle for 10 min' });
      expect(decide({ ...idle, idleMs: 599_999 }).wanted).to.equal(1);
      expect(decide({ ...idle, idleMs: 600_000, loadTimeMs: 900_000 }).wanted).to.equal(1);
      expect(decide({ ...idle, idleMs: 600_000, rules: { min: 1 } }).wanted).to.equal(1);
      expect(decide({ ...idle, idleMs: 600_000, isWanted: true }).wanted).to.equal(1);
    });
  });

  describe('scarcity', () => {
    const short = { wanted: 5, ready: 3, unscheduled: 2, unschedulableMs: 120_000 };

    it('keeps one pod that finds no room after 2 minutes, and withdraws the others', () => {
      const decision = decide({ stable: 45, pods: short });
      expect(decision).to.deep.include({ wanted: 4, needed: 5, isShort: true });
      expect(decision.reason).to.equal('needs 5, has 3: the cluster has no capacity for more');
      expect(decide({ stable: 45, pods: { ...short, unschedulableMs: 119_999 } }).wanted).to.equal(5);
    });

    it('never withdraws a pod that loads', () => {
      const pods = { wanted: 5, ready: 1, starting: 3, unscheduled: 1, unschedulableMs: 300_000 };
      expect(decide({ stable: 45, pods }).wanted).to.equal(5);
    });

    it('tries one more as soon as one found room, until all are there', () => {
      const memory = { isShort: true, lackSince: NOW - 500_000 };
      const next = decide({ stable: 45, pods: { wanted: 4, ready: 3, starting: 1 }, memory });
      expect(next).to.include({ wanted: 5, isShort: true });
      const done = decide({ stable: 45, pods: { wanted: 5, ready: 3, starting: 2 }, memory });
      expect(done).to.include({ wanted: 5, isShort: false });
    });

    it('takes pods that a queue holds back for no lack of room, and withdraws none of them', () => {
      const gated = { wanted: 5, ready: 3, gated: 2 };
      for (const mayProbe of [true, false]) {
        const decision = decide({ stable: 45, pods: gated, mayProbe });
        expect(decision).to.deep.include({ wanted: 5, needed: 5, isShort: false });
      }
      const both = { wanted: 5, ready: 1, gated: 2, unscheduled: 2, unschedulableMs: 120_000 };
      expect(decide({ stable: 45, pods: both })).to.deep.include({ wanted: 4, isShort: true });
    });

    it('asks for none while others are to try first', () => {
      expect(decide({ isWanted: true, pods: { wanted: 0 }, mayProbe: false }).wanted).to.equal(0);
      expect(decide({ stable: 45, pods: short, mayProbe: false }).wanted).to.equal(3);
    });
  });
});
