import { expect } from 'chai';
import { chooseVersion, type Share } from '../../../../gateway/traffic/assignment.ts';

const CONVERSATIONS = Array.from({ length: 10_000 }, (_, index) => `conversation ${index}`);
const share = (deployment: string, weight: number): Share => ({ deployment, weight });

function count(shares: readonly Share[], name: string | null): number {
  return CONVERSATIONS.filter((each) => chooseVersion(each, shares) === name).length;
}

describe('which version answers a conversation', () => {
  it('is the same for each of its turns', () => {
    const shares = [share('v2', 30), share('v3', 20)];
    for (const each of CONVERSATIONS.slice(0, 1_000))
      expect(chooseVersion(each, shares)).to.equal(chooseVersion(each, shares));
  });

  it('gives each version its percentage, and the deployment the rest', () => {
    const shares = [share('v2', 10), share('v3', 50), share('v4', 15)];
    expect(count(shares, 'v2')).to.be.within(900, 1_100);
    expect(count(shares, 'v3')).to.be.within(4_800, 5_200);
    expect(count(shares, 'v4')).to.be.within(1_390, 1_610);
    expect(count(shares, null)).to.be.within(2_340, 2_660);
  });

  it('is never a version without a weight, and always the one with all of it', () => {
    expect(count([share('v2', 0)], 'v2')).to.equal(0);
    expect(count([share('v2', 100)], 'v2')).to.equal(CONVERSATIONS.length);
    expect(count([share('v2', 100), share('v3', 0)], 'v3')).to.equal(0);
  });

  it('changes only to the version whose weight is raised', () => {
    for (let weight = 0; weight < 100; weight += 5)
      for (const each of CONVERSATIONS.slice(0, 1_000)) {
        const before = chooseVersion(each, [share('v2', weight)]);
        const after = chooseVersion(each, [share('v2', weight + 5)]);
        if (before !== after) expect([before, after]).to.deep.equal([null, 'v2']);
      }
  });

  it('never goes back to the deployment nor leaves the raised version when one of several is raised', () => {
    for (const raised of [0, 1])
      for (const each of CONVERSATIONS) {
        const before = chooseVersion(each, [share('v2', 20), share('v3', 20)]);
        const after = chooseVersion(
          each,
          [share('v2', 20), share('v3', 20)].map((one, index) =>
            index === raised ? share(one.deployment, 40) : one,
          ),
        );
        if (before === after) continue;
        expect(after).not.to.equal(null);
        expect(before).not.to.equal(raised === 0 ? 'v2' : 'v3');
      }
  });
});
