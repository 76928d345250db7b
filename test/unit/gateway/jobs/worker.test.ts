import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import type { WorkerServices } from '../../../../gateway/jobs/services.ts';
import { countBlockingRuns, startWorker } from '../../../../gateway/jobs/worker.ts';

describe('a worker without jobs', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('looks into an empty queue ever more seldom', async () => {
    let looks = 0;
    const zcard = async () => {
      looks += 0.5;
      return 0;
    };
    const worker = startWorker({
      slots: new Slots(() => 1),
      config: () => ({ namespace: 'team', name: 'film', cordoned: [] as string[], paused: false }),
      engine: { isReady: () => true },
      redis: { zcard },
      pod: 'pod',
    } as unknown as WorkerServices);
    const pass = async (seconds: number) => {
      const before = looks;
      for (let second = 0; second < seconds; second++) {
        mock.timers.tick(1_000);
        for (let i = 0; i < 4; i++) await turn();
      }
      return looks - before;
    };
    await pass(60);
    expect(await pass(160), 'each 8 to 16 s').to.be.within(10, 20);
    await worker.stop(0);
  });
});

describe('the runs in the way of further jobs', () => {
  const count = (uploadingMs: number[], isHalfFree = true) =>
    countBlockingRuns(
      uploadingMs.map((ms) => ({ uploadingMs: ms })),
      () => ({ isHalfFree }),
    );

  it('are not those whose store has been away for longer than a minute', () => {
    expect(count([0, 59_000])).to.equal(2);
    expect(count([0, 61_000, 3_600_000])).to.equal(1);
  });

  it('are all but 16 of those, and all while the disk fills', () => {
    expect(count(Array(20).fill(61_000))).to.equal(4);
    expect(count([0, 61_000], false)).to.equal(2);
  });
});
