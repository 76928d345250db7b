import { expect } from 'chai';
import { Backlog } from '../../../../operator/publish/backlog.ts';
import type { Target } from '../../../../operator/publish/desired-state.ts';

const only = (...hashes: string[]): Target => ({
  what: 'apikeys',
  namespace: 'team-a',
  only: new Set(hashes),
});
const all: Target = { what: 'apikeys', namespace: 'team-a' };

describe('what is to be published', () => {
  let backlog: Backlog;
  beforeEach(() => {
    backlog = new Backlog();
  });

  it('is of the API keys of a workspace all that changed, once each', () => {
    backlog.mark(only('a', 'b'));
    backlog.mark(only('b', 'c'));
    expect(backlog.take()).to.deep.equal([only('a', 'b', 'c')]);
  });

  for (const [how, marks] of [
    ['before', [all, only('a')]],
    ['after', [only('a'), all]],
    ['where very many changed', Array.from({ length: 501 }, (_, index) => only(String(index)))],
  ] as const)
    it(`is all of them if all were asked for ${how}`, () => {
      for (const mark of marks) backlog.mark(mark);
      expect(backlog.take()).to.deep.equal([all]);
    });

  it('is all of them after some could not be written', () => {
    backlog.mark(only('a'));
    const [target] = backlog.take();
    backlog.settle(target!, new Error('WRONGTYPE'));
    expect(backlog.nextInMs).to.be.above(0);
    backlog.mark(only('b'));
    expect(backlog.take()).to.deep.equal([only('b')]);
    expect(backlog.hasRetry(all)).to.equal(true);
  });

  it('still is after others were written meanwhile', () => {
    backlog.settle(only('a'), new Error('WRONGTYPE'));
    backlog.settle(only('b'), undefined);
    expect(backlog.hasRetry(all)).to.equal(true);
    expect(backlog.failureOf(all)).to.equal('WRONGTYPE');
    backlog.settle(all, undefined);
    expect(backlog.isEmpty).to.equal(true);
    expect(backlog.failureOf(all)).to.equal(undefined);
  });
});
