import { expect } from 'chai';
import { Rounds } from '../../../../gateway/front/housekeeping/rounds.ts';
import { pollUntil } from '../../../support/poll.ts';

describe("a front's rounds", () => {
  let rounds: Rounds;
  let visits: string[];
  let errors: (string | null)[];
  const start = (namespaces: string[], visit: (namespace: string) => Promise<boolean>) => {
    let lists = 0;
    visits = [];
    errors = [];
    rounds = new Rounds({
      list: async () => (lists++ === 0 ? namespaces : []),
      visit: (namespace) => {
        visits.push(namespace);
        return visit(namespace);
      },
      onError: (_, namespace) => errors.push(namespace),
      intervalMs: 1,
    });
    return pollUntil(() => lists > 1, 'the end of the round');
  };
  /** Has more to do for longer than a round may last. */
  const isEndless = async (namespace: string) => namespace === 'endless' && visits.length < 500;
  const count = (namespace: string) => visits.filter((each) => each === namespace).length;
  afterEach(() => rounds.close());

  it('end after 50 steps of a workspace that always has more to do', async () => {
    await start(['endless', 'short'], isEndless);
    expect([count('endless'), count('short')]).to.deep.equal([50, 1]);
  });

  it('let others run first: a workspace with more to do has its next step after theirs', async () => {
    const namespaces = Array.from({ length: 40 }, (_, i) => `w${i}`);
    await start(['endless', ...namespaces], isEndless);
    const second = visits.indexOf('endless', 1);
    expect(second).to.be.at.least(40);
  });

  it('go on past one that fails, whose errors are its own', async () => {
    await start(['broken', 'good'], async (namespace) => {
      if (namespace === 'broken') throw new Error('broken');
      return false;
    });
    expect([visits, errors]).to.deep.equal([['broken', 'good'], ['broken']]);
  });
});
