import { expect } from 'chai';
import { createExpiryGate, EXPIRY_GRACE_MS } from '../../../redis/requests/request-sweep.ts';

describe('the gate of expiry', () => {
  let time: number;
  const make = () => createExpiryGate({ now: () => time });
  beforeEach(() => {
    time = 1_000_000;
  });

  it('is shut for 10 s after a run id is first seen, and open from then on', () => {
    const gate = make();
    expect(gate.observe('one')).to.equal(false);
    time += EXPIRY_GRACE_MS - 1;
    expect(gate.observe('one')).to.equal(false);
    time += 1;
    expect(gate.observe('one')).to.equal(true);
    time += 60_000;
    expect(gate.observe('one')).to.equal(true);
  });

  for (const [what, happen] of [
    ['a restart or failover', (gate: ReturnType<typeof make>) => gate.observe('two')],
    ['a reconnect', (gate: ReturnType<typeof make>) => gate.reset()],
  ] as const) {
    it(`is shut for 10 s again after ${what}`, () => {
      const gate = make();
      gate.observe('one');
      time += EXPIRY_GRACE_MS;
      expect(gate.observe('one')).to.equal(true);
      happen(gate);
      const runId = what === 'a reconnect' ? 'one' : 'two';
      expect(gate.observe(runId)).to.equal(false);
      time += EXPIRY_GRACE_MS;
      expect(gate.observe(runId)).to.equal(true);
    });
  }
});
