/** Which revisions are written, and for whom. */
import { expect } from 'chai';
import {
  describeChange,
  type KnownRevision,
  planRevisions,
} from '../../../../operator/history/revision-plan.ts';

const revision = (number: number): KnownRevision => ({
  name: `chat-${number}`,
  number,
  at: '2026-11-30T10:00:00Z',
  manager: 'kubectl',
  version: `spec ${number}`,
});
const numbersOf = (revisions: readonly KnownRevision[]) => revisions.map(({ number }) => number);

describe('the plan of revisions', () => {
  it('begins with the first spec', () => {
    expect(planRevisions([], 'spec 1', 0)).to.deep.equal({ number: 1, remove: [] });
  });

  it('writes nothing for the spec of the newest one', () => {
    expect(planRevisions([revision(2), revision(1)], 'spec 2', 0).number).to.equal(undefined);
  });

  it('gives a spec of before the next number', () => {
    expect(planRevisions([revision(2), revision(1)], 'spec 1', 0)).to.deep.equal({ number: 3, remove: [] });
  });

  it('takes no number whose name is in use', () => {
    expect(planRevisions([revision(2)], 'spec 3', 7).number).to.equal(8);
  });

  it('keeps ten, the newest', () => {
    const ten = Array.from({ length: 10 }, (_, index) => revision(10 - index));
    expect(numbersOf(planRevisions(ten, 'spec 11', 0).remove)).to.deep.equal([1]);
    expect(numbersOf(planRevisions(ten, 'spec 10', 0).remove)).to.deep.equal([]);
    const more = [revision(12), revision(11), ...ten];
    expect(numbersOf(planRevisions(more, 'spec 12', 0).remove)).to.deep.equal([2, 1]);
  });
});

describe('the author of a revision', () => {
  const now = Date.parse('2026-11-30T12:00:00Z');
  const unknown = { manager: null, at: '2026-11-30T12:00:00.000Z' };

  it('is the last writer of the spec', () => {
    const writer = { manager: 'kubectl', time: '2026-11-30T11:00:00Z' };
    const change = { manager: 'kubectl', at: '2026-11-30T11:00:00Z' };
    expect(describeChange(writer, undefined, now)).to.deep.equal(change);
    expect(describeChange(writer, revision(1), now)).to.deep.equal(change);
  });

  it('is unknown where Kubernetes recorded none, as for fields that were only removed', () => {
    expect(describeChange(undefined, undefined, now)).to.deep.equal(unknown);
    const same = { manager: 'kubectl', time: '2026-11-30T10:00:00Z' };
    expect(describeChange(same, revision(1), now)).to.deep.equal(unknown);
    const before = { manager: 'helm', time: '2026-11-30T09:00:00Z' };
    expect(describeChange(before, revision(1), now)).to.deep.equal(unknown);
    const another = { manager: 'helm', time: '2026-11-30T10:00:00Z' };
    expect(describeChange(another, revision(1), now).manager).to.equal('helm');
  });
});
