import type { CpuInfo } from 'node:os';
import { expect } from 'chai';
import { countBusyCores } from '../../../tools/busy-cores.ts';

const core = (user: number, sys: number, idle: number): CpuInfo => ({
  model: 'any',
  speed: 0,
  times: { user, nice: 0, sys, idle, irq: 0 },
});

describe('the cores that are busy', () => {
  it('are counted by the share of time that each was not idle', () => {
    const before = [core(1_000, 500, 200), core(0, 0, 5_000)];
    const after = [core(1_600, 700, 400), core(100, 150, 5_750)];
    expect(countBusyCores(before, after)).to.be.closeTo(0.8 + 0.25, 1e-9);
  });

  it('are none where no time has passed, and a core that has come since is no error', () => {
    expect(countBusyCores([core(5, 5, 5)], [core(5, 5, 5), core(7, 7, 7)])).to.equal(0);
  });
});
