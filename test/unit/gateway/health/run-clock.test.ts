import { expect } from 'chai';
import { RunClock } from '../../../../gateway/health/run-clock.ts';

describe('a clock of the time that a process ran', () => {
  let at = 1_000;
  let clock: RunClock;
  beforeEach(() => {
    at = 1_000;
    clock = new RunClock(() => at);
  });
  afterEach(() => clock.stop());

  it('runs as time does', () => {
    for (let tick = 0; tick < 100; tick++) {
      at += 250;
      clock.now();
    }
    expect(clock.now()).to.equal(26_000);
    expect(clock.stalledMs).to.equal(0);
  });

  it('stands still while the process does, and never runs backwards', () => {
    const before = clock.now();
    at += 9_000;
    const after = clock.now();
    expect(after - before).to.equal(250);
    expect(clock.stalledMs).to.equal(8_750);
    at += 100;
    expect(clock.now() - after).to.equal(100);
  });
});
