import { expect } from 'chai';
import { chooseVersion, type Share } from '../../../../gateway/traffic/assignment.ts';

const CONVERSATIONS = Array.from({ length: 2_000 }, (_, index) => `conversation ${index}`);
const share = (deployment: string, weight: number): Share => ({ deployment, weight });

function count(shares: readonly Share[], name: string | null): number {
  return CONVERSATIONS.filter((each) => chooseVersion(each, shares) === name).length;
}

describe('which version answers a conversation', () => {
  it('gives each version its percentage, and the deployment the rest', () => {
    const shares = [share('v2', 10), share('v3', 50), share('v4', 15)];
    expect(count(shares, 'v2')).to.be.within(150, 250);
    expect(count(shares, 'v3')).to.be.within(900, 1_100);
    expect(count(shares, 'v4')).to.be.within(240, 360);
    expect(count(shares, null)).to.be.within(420, 580);
  });

  it('is never a version without a weight, and always the one with all of it', () => {
    expect(count([share('v2', 0)], 'v2')).to.equal(0);
    expect(count([share('v2', 100)], 'v2')).to.equal(CONVERSATIONS.length);
    expect(count([share('v2', 100), share('v3', 0)], 'v3')).to.equal(0);
  });

  it('is the deployment for the share of a version that cannot answer, and the same for all others', () => {
    const shares = [share('v2', 30), share('v3', 20)];
    const without = [{ ...share('v2', 30), excluded: true as const }, share('v3', 20)];
    for (const each of CONVERSATIONS) {
      const version = chooseVersion(each, shares);
      expect(chooseVersion(each, without)).to.equal(version === 'v2' ? null : version);
    }
  });

  it('changes only to the version whose weight is raised', () => {
    for (let weight = 0; weight < 100; weight += 20)
      for (const each of CONVERSATIONS) {
        const before = chooseVersion(each, [share('v2', weight)]);
        const after = chooseVersion(each, [share('v2', weight + 20)]);
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
