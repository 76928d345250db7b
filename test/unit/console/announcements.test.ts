import { expect } from 'chai';
import { channels } from '../../../api/redis-keys.ts';
import { readAnnouncement } from '../../../console/server/live/announcements.ts';

describe('an announcement of Redis', () => {
  it('is of requests once one waits, and of deliveries, too, once one has ended', () => {
    expect(readAnnouncement(channels.jobs('team', 'image'))).to.deep.equal({
      namespace: 'team',
      topics: ['requests'],
    });
    expect(readAnnouncement(channels.events('team'))).to.deep.equal({
      namespace: 'team',
      topics: ['requests', 'deliveries'],
    });
  });

  it('is nothing to pages on other channels', () => {
    for (const channel of [channels.workspace('team'), channels.front, channels.consoleSessions])
      expect(readAnnouncement(channel), channel).to.equal(null);
  });
});
