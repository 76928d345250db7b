import { expect } from 'chai';
import { createFloodGauge, FLOOD_LIMITS } from '../../../redis/subscription.ts';

const KIB = 1024;

describe('what a subscription takes for a flood', () => {
  /** How many of a series of messages are accepted. */
  const countTaken = (message: string) => {
    const isFlood = createFloodGauge(FLOOD_LIMITS);
    let taken = 0;
    while (taken < 10_000 && !isFlood(message)) taken++;
    return taken;
  };

  it('is more than 5,000 messages in a second', () => {
    expect(countTaken('1')).to.equal(5_000);
  });

  it('is more than 8 MiB in a second', () => {
    expect(countTaken('x'.repeat(64 * KIB))).to.equal(128);
  });

  it('is answered by a pause of 10 s', () => {
    expect(FLOOD_LIMITS.pauseMs).to.equal(10_000);
  });
});
