/** Which revisions are written, and for whom. */
import { expect } from 'chai';
import type { Spec, SpecRevision } from '../../../../api/spec-revision.ts';
import { describeChange, planRevisions } from '../../../../operator/history/revision-plan.ts';

const specOf = (concurrency: number): Spec => ({ kind: 'LLM', model: { id: 'qwen' }, concurrency });
const revision = (number: number, concurrency = number): SpecRevision => ({
  name: `chat-${number}`,
  number,
  at: '2026-11-30T10:00:00Z',
  manager: 'kubectl',
  spec: specOf(concurrency),
});
const numbersOf = (revisions: readonly SpecRevision[]) => revisions.map(({ number }) => number);

describe('the plan of revisions', () => {
  it('begins with the first spec', () => {
    expect(planRevisions([], specOf(1))).to.deep.equal({
      write: { number: 1, known: undefined },
      remove: [],
    });
  });

  it('writes nothing for the spec of the newest one', () => {
    expect(planRevisions([revision(2), revision(1)], specOf(2)).write).to.equal(undefined);
    expect(planRevisions([revision(1)], { ...specOf(1), replicas: 4, paused: true }).write).to.equal(
      undefined,
    );
  });

  it('gives a spec of before the next number, without a second copy', () => {
    const { write, remove } = planRevisions([revision(1), revision(2), revision(3)], specOf(1));
    expect(write).to.deep.equal({ number: 4, known: revision(1) });
    expect(remove).to.deep.equal([]);
  });

  it('keeps ten, the newest', () => {
    const ten = Array.from({ length: 10 }, (_, index) => revision(index + 1));
    expect(numbersOf(planRevisions(ten, specOf(11)).remove)).to.deep.equal([1]);
    expect(numbersOf(planRevisions(ten, specOf(1)).remove)).to.deep.equal([]);
    const more = [...ten, revision(11), revision(12)];
    expect(numbersOf(planRevisions(more, specOf(12)).remove)).to.deep.equal([2, 1]);
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
