import { expect } from 'chai';
import {
  type Candidate,
  type Decision,
  decideRollout,
  type Question,
} from '../../../../operator/sidecar/decision.ts';
import type { RolloutProgress } from '../../../../operator/sidecar/progress.ts';
import { parseSidecarRollout } from '../../../../operator/sidecar/settings.ts';

const NOW = Date.parse('2026-03-04T12:00:00Z');
const MINUTE = 60_000;
const REVISION = 'new';

const SERVING: RolloutProgress = {
  rolled: undefined,
  isObserved: true,
  isComplete: true,
  progressedAt: NOW - 600 * MINUTE,
  isStuck: false,
  isAvailable: true,
  isIdle: false,
};
const NO_ERRORS = { before: { requests: 0, errors: 0 }, after: { requests: 0, errors: 0 } };

const outdated = (key: string, progress: Partial<RolloutProgress> = {}): Candidate => ({
  key,
  isOutdated: true,
  progress: { ...SERVING, ...progress },
});
const rolled = (
  key: string,
  minutesAgo: number,
  {
    errors = NO_ERRORS,
    revision = REVISION,
    ...progress
  }: Partial<RolloutProgress> & {
    errors?: Candidate['errors'];
    revision?: string;
  } = {},
): Candidate => {
  const startedAt = NOW - minutesAgo * MINUTE;
  return {
    key,
    isOutdated: false,
    progress: { ...SERVING, rolled: { revision, startedAt }, progressedAt: startedAt, ...progress },
    errors,
  };
};
const underWay = { isComplete: false, isAvailable: false };

const settingsOf = (change: object = {}) =>
  parseSidecarRollout({ enabled: true, maxConcurrent: 2, ...change })!;
const decide = (candidates: Candidate[], change: Partial<Question> = {}): Decision =>
  decideRollout({
    candidates,
    record: undefined,
    revision: REVISION,
    now: NOW,
    settings: settingsOf(),
    ...change,
  });

describe('the rollout of sidecars', () => {
  it('starts as many as the budget allows, by name', () => {
    const { start, outdated: count } = decide(['c/x', 'a/x', 'b/x'].map((key) => outdated(key)));
    expect(start).to.deep.equal(['a/x', 'b/x']);
    expect(count).to.equal(3);
  });

  it('starts no more than a percentage of all that may be rolled, and at least one', () => {
    const settings = settingsOf({ maxConcurrent: '25%' });
    const keys = Array.from({ length: 11 }, (_, i) => `ns/m${i}`);
    expect(
      decide(
        keys.map((key) => outdated(key)),
        { settings },
      ).start,
    ).to.have.length(2);
    expect(decide([outdated('a/x'), outdated('b/x')], { settings }).start).to.deep.equal(['a/x']);
  });

  it('waits for those under way and those that are watched for errors', () => {
    const busy = [rolled('r/under-way', 3, underWay), rolled('r/watched', 4)];
    const { start, rolling } = decide([...busy, outdated('a/x')]);
    expect(start).to.deep.equal([]);
    expect(rolling).to.deep.equal(['r/under-way', 'r/watched']);
    expect(decide([busy[0]!, rolled('r/done', 6), outdated('a/x')]).start).to.deep.equal(['a/x']);
  });

  it('takes a rollout that the Deployment controller has not seen yet for one under way', () => {
    const unseen = rolled('r/x', 90, { isObserved: false, isComplete: false });
    const settings = settingsOf({ stop: { readyTimeout: '1m' } });
    expect(decide([unseen], { settings })).to.include({ stop: undefined });
    expect(decide([unseen], { settings }).rolling).to.deep.equal(['r/x']);
  });

  it('starts none that has a rollout or a trouble of its own', () => {
    const troubled = [
      outdated('a/rolls', { isComplete: false }),
      outdated('b/lacks-replicas', { isAvailable: false }),
    ];
    expect(decide(troubled)).to.deep.include({ start: [], outdated: 2, stop: undefined });
  });

  it('takes a paused one, whose outcome says nothing', () => {
    expect(decide([outdated('a/x', { isIdle: true })]).start).to.deep.equal(['a/x']);
    const failure = rolled('r/bad', 90, { ...underWay, isStuck: true, progressedAt: NOW - MINUTE });
    const paused = Array.from({ length: 20 }, (_, i) => rolled(`p/m${i}`, 10, { isIdle: true }));
    expect(decide([failure, ...paused]).stop).to.match(/^1 of 1 updated/);
  });

  it('starts nothing outside its window, and ends what it began', () => {
    const settings = settingsOf({ window: { days: ['Sun'], from: '01:00', to: '05:00' } });
    const { start, rolling, stop } = decide([outdated('a/x'), rolled('r/x', 3, underWay)], { settings });
    expect({ start, rolling, stop }).to.deep.equal({ start: [], rolling: ['r/x'], stop: undefined });
  });

  it('replaces at once, in any window, what an older rollout left unready', () => {
    const settings = settingsOf({ window: { days: ['Sun'] }, maxConcurrent: 1 });
    const left = rolled('r/x', 3, { ...underWay, revision: 'broken' });
    left.isOutdated = true;
    expect(decide([left, outdated('a/x')], { settings }).start).to.deep.equal(['r/x']);
    expect(decide([left, outdated('a/x')]).start).to.deep.equal(['r/x', 'a/x']);
  });

  it('rolls again what was rolled and is outdated once more', () => {
    expect(decide([{ ...rolled('r/x', 30), isOutdated: true }]).start).to.deep.equal(['r/x']);
  });
});

describe('the rollout of sidecars stops by itself', () => {
  const stuck = (key: string) => rolled(key, 30, { ...underWay, isStuck: true });
  const fine = (count: number) => Array.from({ length: count }, (_, i) => rolled(`fine/m${i}`, 20));

  it('when the first that it rolled does not become ready', () => {
    const { start, stop, failed } = decide([stuck('r/x'), outdated('a/x')]);
    expect(start).to.deep.equal([]);
    expect(stop).to.equal('1 of 1 updated deployments failed: r/x: its new pods did not become ready');
    expect(failed.map(({ key }) => key)).to.deep.equal(['r/x']);
  });

  it('not for fewer failures than tolerated', () => {
    const { start, stop } = decide([stuck('r/x'), ...fine(9), outdated('a/x')]);
    expect({ start, stop }).to.deep.equal({ start: ['a/x'], stop: undefined });
    expect(decide([stuck('r/x'), ...fine(8), outdated('a/x')]).stop).to.match(/^1 of 9 /);
  });

  it('after a time without progress, where one is set', () => {
    const settings = settingsOf({ stop: { readyTimeout: '10m' } });
    const slow = (sinceMinutes: number) =>
      rolled('r/x', 60, { ...underWay, progressedAt: NOW - sinceMinutes * MINUTE });
    expect(decide([slow(9)], { settings })).to.deep.include({ rolling: ['r/x'], stop: undefined });
    expect(decide([slow(10)], { settings }).stop).to.include('did not become ready');
  });

  const errors = (before: [number, number], after: [number, number]) => ({
    before: { requests: before[0], errors: before[1] },
    after: { requests: after[0], errors: after[1] },
  });
  const ratios: [string, ReturnType<typeof errors>, boolean][] = [
    ['rose', errors([1000, 10], [100, 10]), true],
    ['rose by as much as is borne', errors([1000, 10], [100, 6]), false],
    ['was as high before', errors([1000, 300], [100, 30]), false],
    ['is of too few requests', errors([1000, 0], [19, 19]), false],
    ['rose where nobody called before', errors([0, 0], [20, 20]), true],
    ['is nonsense that somebody wrote', errors([-5, 9], [30, -30]), false],
  ];
  for (const [name, counts, isStop] of ratios)
    it(`${isStop ? 'when' : 'not when'} the error ratio ${name}`, () => {
      const { stop } = decide([rolled('r/x', 20, { errors: counts })]);
      if (isStop) expect(stop).to.match(/server errors rose from \d+\.0 % to \d+\.0 % of requests$/);
      else expect(stop).to.equal(undefined);
    });

  it('while a deployment is watched, as soon as its error ratio has risen', () => {
    expect(decide([rolled('r/x', 1, { errors: errors([100, 0], [50, 40]) })]).stop).to.include('80.0 %');
  });

  it('not for an error ratio that is not known: that deployment counts as under way', () => {
    const unknown = { ...rolled('r/x', 20), errors: undefined };
    expect(decide([unknown])).to.deep.include({ rolling: ['r/x'], stop: undefined });
  });

  it('not for what failed longer ago than its period', () => {
    const old = rolled('r/x', 200, { ...underWay, isStuck: true });
    expect(decide([old, outdated('a/x')])).to.deep.include({ start: ['a/x'], stop: undefined });
  });

  it('and stays stopped for that sidecar, whatever becomes of those that failed', () => {
    const record = { isStopped: true, revision: REVISION, reason: 'it was bad', resumedAt: 0 };
    expect(decide([rolled('r/x', 300), outdated('a/x')], { record })).to.deep.include({
      start: [],
      stop: 'it was bad',
    });
    const other = { ...record, revision: 'older' };
    expect(decide([outdated('a/x')], { record: other })).to.deep.include({ start: ['a/x'], stop: undefined });
  });

  it('goes on once somebody resumes, without what failed before', () => {
    const record = { isStopped: false, revision: REVISION, reason: '', resumedAt: NOW - MINUTE };
    const { start, stop } = decide([stuck('r/x'), outdated('a/x')], { record });
    expect({ start, stop }).to.deep.equal({ start: ['a/x'], stop: undefined });
  });

  it('goes on within its budget: what rolls since before somebody resumed still takes of it', () => {
    const record = { isStopped: false, revision: REVISION, reason: '', resumedAt: NOW - MINUTE };
    const settings = settingsOf({ stop: { readyTimeout: '10m' } });
    const earlier = [
      rolled('r/under-way', 3, underWay),
      rolled('r/unseen', 3, { isObserved: false, isComplete: false }),
      rolled('r/late', 20, underWay),
      rolled('r/bad', 4, { errors: errors([100, 0], [50, 40]) }),
    ];
    const { start, rolling, stop } = decide([...earlier, outdated('a/x')], { record, settings });
    expect({ start, rolling, stop }).to.deep.equal({
      start: [],
      rolling: ['r/under-way', 'r/unseen'],
      stop: undefined,
    });
  });
});
