import { expect } from 'chai';
import { Feed } from '../../../console/server/live/feed.ts';
import { pollUntil } from '../../support/poll.ts';

describe('the feed of a namespace', () => {
  it('watches again with the token that the session has by then', async () => {
    const tokens: string[] = [];
    let token = 'first';
    const streams = {
      watch: async function* (used: string) {
        tokens.push(used);
        token = 'renewed';
        yield;
      },
    };
    const feed = new Feed({ streams, readToken: async () => token, namespace: 'team', retryMs: 1 });
    await pollUntil(() => tokens.length > 3);
    feed.close();
    expect([...new Set(tokens)]).to.deep.equal(['first', 'renewed']);
  });
});
