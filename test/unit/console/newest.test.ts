import { expect } from 'chai';
import { mergeNewest, type Source } from '../../../console/server/views/newest.ts';

describe('the newest of several lists', () => {
  let read: number;
  const list = (...items: number[]): Source<number> => {
    const rest = [...items];
    return {
      read: async (limit) => {
        const page = rest.splice(0, limit);
        read += page.length;
        return page;
      },
    };
  };
  const search = (limit: number, sources: Source<number>[]) =>
    mergeNewest(sources, { limit, timeOf: (time) => time });
  const merge = async (...args: Parameters<typeof search>) => (await search(...args)).items;
  /** A list that was not searched to its end. */
  const stopping = (stoppedAt: number, ...items: number[]) => ({
    ...list(...items),
    stoppedAt: () => stoppedAt,
  });
  const count = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, i) => from - i);

  beforeEach(() => {
    read = 0;
  });

  it('are in order across all lists, however they are distributed', async () => {
    const sources = [list(...count(30, 21)), list(...count(20, 1)), list(), list(25.5, 0.5)];
    const expected = [...count(30, 26), 25.5, ...count(25, 1), 0.5];
    expect(await merge(100, sources)).to.deep.equal(expected);
  });

  it('are no more than requested', async () => {
    expect(await merge(3, [list(9, 7, 5), list(8, 6)])).to.deep.equal([9, 8, 7]);
    expect(await merge(3, [])).to.deep.equal([]);
  });

  it('are found without reading much more than is shown', async () => {
    const sources = Array.from({ length: 200 }, () => list(...count(1_000, 1)));
    expect(await merge(50, sources)).to.have.length(50);
    expect(read).to.be.below(1_500);
  });

  it('go no further back than a list that gave up is known', async () => {
    const older = [9, 4, 3];
    expect(await search(5, [stopping(5, 8, 6), list(...older)])).to.deep.equal({
      items: [9, 8, 6],
      stoppedAt: 5,
    });
    expect(await search(5, [stopping(7), stopping(2), list(...older)])).to.deep.equal({
      items: [9],
      stoppedAt: 7,
    });
    expect(await search(2, [stopping(5, 8, 6), list(...older)])).to.deep.equal({
      items: [9, 8],
      stoppedAt: null,
    });
  });
});
