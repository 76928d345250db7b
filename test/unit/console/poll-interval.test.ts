import { expect } from 'chai';
import { choosePollInterval } from '../../../console/web/client/poll-interval.ts';

describe('how often a page reads a list', () => {
  const realNow = Date.now;
  let now = 0;
  before(() => {
    Date.now = () => now;
  });
  after(() => {
    Date.now = realNow;
  });

  it('is less often the longer nothing changes, and often again once something does', () => {
    const query = { state: { data: ['a'] } };
    const at = (seconds: number) => {
      now = seconds * 1_000;
      return choosePollInterval(query);
    };
    expect([at(0), at(3), at(20), at(60), at(600)]).to.deep.equal([3_000, 3_000, 5_000, 15_000, 15_000]);
    query.state.data = ['b'];
    expect([at(601), at(604)]).to.deep.equal([3_000, 3_000]);
  });
});
