import { expect } from 'chai';
import { countBlockingRuns } from '../../../../gateway/jobs/worker.ts';

describe('the runs in the way of further jobs', () => {
  const count = (uploadingMs: number[], isHalfFree = true) =>
    countBlockingRuns(
      uploadingMs.map((ms) => ({ uploadingMs: ms })),
      () => ({ isHalfFree }),
    );

  it('are not those whose store has been away for longer than a minute', () => {
    expect(count([0, 59_000])).to.equal(2);
    expect(count([0, 61_000, 3_600_000])).to.equal(1);
  });

  it('are all but 16 of those, and all while the disk fills', () => {
    expect(count(Array(20).fill(61_000))).to.equal(4);
    expect(count([0, 61_000], false)).to.equal(2);
  });
});
