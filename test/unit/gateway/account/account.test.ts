import { expect } from 'chai';
import { insertReceiptComment } from '../../../../gateway/account/account.ts';

const USAGE = { inputTokens: 30, cachedInputTokens: 0, outputTokens: 20, totalTokens: 50 };

describe('the receipt of a stream', () => {
  const insert = (events: string) => insertReceiptComment(events, { usage: USAGE, micros: 110 });
  const COMMENT = ': receipt {"cost":"0.00011","tokens":50}\n\n';

  it('stands before the last event, whatever came with it', () => {
    expect(insert('data: [DONE]\n\n')).to.equal(`${COMMENT}data: [DONE]\n\n`);
    expect(insert('data: {}\n\ndata: [DONE]\n\n')).to.equal(`data: {}\n\n${COMMENT}data: [DONE]\n\n`);
    expect(insert('event: a\ndata: {}\n\nevent: b\ndata: {}\n\n')).to.equal(
      `event: a\ndata: {}\n\n${COMMENT}event: b\ndata: {}\n\n`,
    );
  });
});
