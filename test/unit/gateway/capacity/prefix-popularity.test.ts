import { expect } from 'chai';
import { Popularity } from '../../../../gateway/capacity/prefix-fork.ts';
import { mixBits } from '../../../../gateway/capacity/prefix-hash.ts';

const POPULAR = 0xabcdef;

/** Counts requests, every n-th with the popular prefix; returns how often each prefix was judged popular. */
function play(popularity: Popularity, requests: number, everyNth: number) {
  const said = { popular: 0, others: 0 };
  for (let index = 0; index < requests; index++) {
    popularity.beginRequest();
    const isIt = index % everyNth === 0;
    if (popularity.count(isIt ? POPULAR : mixBits(index), 0.05)) said[isIt ? 'popular' : 'others']++;
  }
  return said;
}

describe('the popularity of prefixes', () => {
  it('finds the one that a tenth of all requests have, in a flood of others', () => {
    const { popular, others } = play(new Popularity(), 50_000, 10);
    expect(popular).to.be.above(4_950);
    expect(others).to.equal(0);
  });

  it('calls none popular that is below the share', () => {
    expect(play(new Popularity(), 50_000, 50)).to.deep.equal({ popular: 0, others: 0 });
  });

  it('forgets one that has gone out of fashion', () => {
    const popularity = new Popularity();
    play(popularity, 5_000, 2);
    expect(play(popularity, 40_000, 40_000).popular).to.equal(1);
    popularity.beginRequest();
    expect(popularity.count(POPULAR, 0.05)).to.equal(false);
  });

  it('says nothing by a handful of requests', () => {
    const popularity = new Popularity();
    for (let index = 0; index < 4; index++) {
      popularity.beginRequest();
      expect(popularity.count(POPULAR, 0.01)).to.equal(false);
    }
  });

  it('knows a prefix that goes on in many ways, and forgets that it did', () => {
    const popularity = new Popularity();
    const follow = (next: number) => popularity.follow(POPULAR, next);
    expect([follow(1), follow(1), follow(2)], 'a second answer to the same question').to.not.include(true);
    expect(follow(3)).to.equal(true);
    play(popularity, 4_096, 4_096);
    expect(follow(1), 'seen a while ago').to.equal(true);
    play(popularity, 4_096, 4_096);
    expect(follow(1), 'long ago').to.equal(false);
  });
});
