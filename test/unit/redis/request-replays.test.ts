import { expect } from 'chai';
import { decodeReplays } from '../../../redis/requests/request-replays.ts';

describe('how often a request was asked for again', () => {
  const fields = { replays: '3', replayed_at: '1000', replay_differs: 'prompt,image[2]' };

  it('is a number, the last time, and the fields that last differed', () => {
    expect(decodeReplays(fields)).to.deep.equal({
      count: 3,
      lastAt: 1_000,
      differing: ['prompt', 'image[2]'],
    });
    expect(decodeReplays({ ...fields, replay_differs: undefined })!.differing).to.deep.equal([]);
    expect(decodeReplays({})).to.equal(null);
  });

  it('is nothing where a workspace wrote something else', () => {
    for (const forged of [
      { replays: 'many' },
      { replays: '-1' },
      { replays: '1e99' },
      { replayed_at: '9e15' },
    ])
      expect(decodeReplays({ ...fields, ...forged }), JSON.stringify(forged)).to.equal(null);
    const names = `<b>,${'x'.repeat(5_000)},seed`;
    expect(decodeReplays({ ...fields, replay_differs: names })!.differing).to.deep.equal([]);
  });
});
