import { expect } from 'chai';
import { CallerMinutes, type Counting } from '../../../../../gateway/front/demand/caller-minutes.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

describe('what a key may have refused or held in a minute', () => {
  const uncount = (counting: Counting) => (counting as { uncount(): void }).uncount();

  it('is what replicas have left of its RPM', async () => {
    const clock = new FakeClock();
    const callers = new CallerMinutes(clock);
    expect(callers.count('a', 2)).to.have.property('uncount');
    await clock.advance(9_500);
    expect(callers.count('a', 2)).to.have.property('uncount');
    expect(callers.count('a', 2)).to.deep.equal({ retryAfter: 51 });
    expect(callers.count('b', 1)).to.have.property('uncount');
    expect(callers.count('c', 0)).to.deep.equal({ retryAfter: 60 });
    await clock.advance(50_500);
    expect(callers.count('a', 1)).to.have.property('uncount');
  });

  it('has room again for what a replica counts itself, once', () => {
    const callers = new CallerMinutes(new FakeClock());
    const first = callers.count('a', 2);
    callers.count('a', 2);
    uncount(first);
    uncount(first);
    expect(callers.count('a', 2)).to.have.property('uncount');
    expect(callers.count('a', 2)).to.have.property('retryAfter');
  });
});
