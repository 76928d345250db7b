import { expect } from 'chai';
import { systemClock } from '../../../kit/clock.ts';

describe('the system clock', () => {
  it('calls back at no earlier time than it was told, by its own time', async () => {
    const wait = (ms: number) => {
      const start = systemClock.now();
      return new Promise<number>((resolve) =>
        systemClock.after(ms, () => resolve(systemClock.now() - start - ms)),
      );
    };
    const waits = Array.from({ length: 200 }, (_, i) => wait(5 + i / 20.1));
    expect(Math.min(...(await Promise.all(waits)))).to.be.at.least(0);
  });
});
