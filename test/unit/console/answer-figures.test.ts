import { expect } from 'chai';
import { describeAnswer } from '../../../console/web/playground/answer-figures.ts';

describe('what an answer took', () => {
  it('is told in tokens, the wait for the first, and their rate from there on', () => {
    const times = { sentAt: 1_000, firstAt: 1_120.4, lastAt: 3_120.4 };
    expect(describeAnswer(times, { prompt_tokens: 1_204, completion_tokens: 101 })).to.equal(
      '1,204 prompt tokens · 101 tokens · first token after 120 ms · 50 tokens/s',
    );
  });

  it('has no rate for an answer in one piece', () => {
    const times = { sentAt: 0, firstAt: 2_345, lastAt: 2_346 };
    expect(describeAnswer(times, { prompt_tokens: 1, completion_tokens: 40 })).to.equal(
      '1 prompt token · 40 tokens · first token after 2.35 s',
    );
  });

  it('leaves out what the engine does not report', () => {
    const times = { sentAt: 0, firstAt: 12_345, lastAt: 20_000 };
    expect(describeAnswer(times, null)).to.equal('first token after 12.3 s');
    expect(describeAnswer({ sentAt: 0, firstAt: null, lastAt: null }, null)).to.equal('');
  });
});
