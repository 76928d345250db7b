import { expect } from 'chai';
import { KeyUses } from '../../../../gateway/telemetry/key-uses.ts';

describe('the last uses of API keys', () => {
  it('are taken once a minute for each key, however often it is used', () => {
    const uses = new KeyUses();
    for (let now = 0; now < 60_000; now += 100) uses.note('a', now);
    uses.note('b', 59_000);
    expect([...uses.take(60_000)]).to.deep.equal([
      ['a', 0],
      ['b', 59_000],
    ]);
    uses.note('b', 60_000);
    expect(uses.take(60_000).size).to.equal(0);
    uses.note('a', 60_000);
    expect([...uses.take(60_000)]).to.deep.equal([['a', 60_000]]);
  });

  it('wait for the next time when they could not be written, unless there is a later one', () => {
    const uses = new KeyUses();
    uses.note('a', 0);
    uses.note('b', 0);
    const taken = uses.take(0);
    uses.note('a', 60_000);
    uses.restore(taken);
    expect([...uses.take(60_000)]).to.have.deep.members([
      ['a', 60_000],
      ['b', 0],
    ]);
  });
});
