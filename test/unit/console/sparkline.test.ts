import { expect } from 'chai';
import { findRuns } from '../../../console/web/parts/sparkline-path.ts';

describe('a sparkline', () => {
  it('has a gap where nothing was measured', () => {
    const runs = findRuns([1, 2, null, null, 4]);
    expect(runs.map((run) => [run[0]!.x, run.at(-1)!.x])).to.deep.equal([
      [0, 40],
      [80, 100],
    ]);
  });

  it('shows a lone value as wide as its step, the largest at the top', () => {
    const [run] = findRuns([null, 5, null]);
    expect(run!.at(-1)!.x - run![0]!.x).to.be.closeTo(33.3, 0.1);
    expect(run![0]!.y).to.equal(2);
  });

  it('lies at the bottom without anything, and has no line without values', () => {
    expect(new Set(findRuns([0, 0, 0])[0]!.map(({ y }) => y))).to.deep.equal(new Set([26]));
    expect(findRuns([])).to.deep.equal([]);
    expect(findRuns([null])).to.deep.equal([]);
  });
});
