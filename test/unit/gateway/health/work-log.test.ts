import { expect } from 'chai';
import { EngineState } from '../../../../gateway/health/engine-state.ts';
import type { Observation } from '../../../../gateway/health/engine-verdict.ts';
import { WatchedWork, type WorkSource } from '../../../../gateway/health/watched-work.ts';
import { WorkLog } from '../../../../gateway/health/work-log.ts';

describe('what an engine’s state is told of works', () => {
  let seen: string[];
  let isCalm: boolean;
  let log: WorkLog;
  const format = (seen: Observation) => Object.values(seen).join(' ');
  beforeEach(() => {
    seen = [];
    isCalm = true;
    log = new WorkLog({ observe: (_, what) => seen.push(format(what)), now: () => 0, isCalm: () => isCalm });
  });
  const observer = { seeProgress: () => {}, seeEnd: () => {}, suspect: () => {} };
  const begin = (source: WorkSource = { isHeld: false }) => {
    const work = new WatchedWork(source, observer);
    log.begin(work);
    return work;
  };
  const take = () => seen.splice(0);

  it('is added up between two looks while all is well', () => {
    for (const work of [begin(), begin(), begin()]) {
      log.answer();
      expect(log.end(work, 'good')).to.equal(true);
      expect(log.end(work, 'good')).to.equal(false);
    }
    expect(take()).to.deep.equal([]);
    log.sample(1);
    expect(take()).to.deep.equal(['served 3']);
    log.sample(2);
    expect(take()).to.deep.equal([]);
  });

  it('has the start of what still runs at a look, its output, and whether it is held', () => {
    const source = { isHeld: false };
    const work = begin(source);
    log.sample(1);
    expect(take()).to.deep.equal(['started 1']);
    work.progress();
    source.isHeld = true;
    log.sample(2);
    expect(take()).to.deep.equal(['output 1', 'held 1 true']);
    source.isHeld = false;
    log.sample(3);
    expect(take()).to.deep.equal(['held 1 false']);
    log.end(work, 'good');
    expect(take()).to.deep.equal(['ended 1 good']);
  });

  for (const outcome of ['fault', 'neutral', 'stuck'] as const)
    it(`has an end that is ${outcome} at once, after the good ones before it`, () => {
      log.end(begin(), 'good');
      const bad = begin();
      log.end(begin(), 'good');
      log.end(bad, outcome);
      expect(take()).to.deep.equal(['served 2', 'started 1', `ended 1 ${outcome}`]);
    });

  it('has what else is seen after what was added up', () => {
    log.answer();
    log.report(1, { kind: 'probe', result: 'slow' });
    expect(take()).to.deep.equal(['answered', 'probe slow']);
  });

  it('has everything at once while something is wrong', () => {
    isCalm = false;
    const work = begin();
    log.answer();
    log.end(work, 'good');
    expect(take()).to.deep.equal(['started 1', 'answered', 'ended 1 good']);
  });

  it('makes the same of it, whether it is added up or not', () => {
    const evaluate = (isAddedUp: boolean) => {
      const state = new EngineState(0, { needsProof: true });
      let now = 0;
      const works = new WorkLog({
        observe: (at, what) => state.observe(at, what),
        now: () => now,
        isCalm: () => isAddedUp,
      });
      works.report(0, { kind: 'probe', result: 'good' });
      const verdicts: string[] = [];
      // Half of the requests fail, as with a client that sends what the engine does not support.
      for (let step = 1; step <= 1_000; step++) {
        now = step * 100;
        const work = new WatchedWork({ isHeld: false }, observer);
        works.begin(work);
        works.end(work, step % 2 === 0 ? 'good' : 'fault');
        works.sample(now);
        const { phase, isInDoubt } = state.evaluate(now, 600_000);
        verdicts.push(`${phase} ${isInDoubt}`);
      }
      return verdicts;
    };
    expect(evaluate(true)).to.deep.equal(evaluate(false));
    expect(evaluate(true)).to.include('healthy true');
  });
});
