import { expect } from 'chai';
import { StartTimes } from '../../../../gateway/front/start-times.ts';
import { describeModel } from '../../../support/model-replica.ts';

describe('how long a deployment takes to start', () => {
  const config = describeModel();
  let now = 0;
  const see = (starts: StartTimes, addresses: string[], change: object = {}) =>
    starts.observe({ config: { ...config, ...change }, addresses });

  it('is learned from its last start, and the rest of it is reported', () => {
    now = 0;
    const starts = new StartTimes(() => now);
    expect(see(starts, [])).to.equal(undefined);
    now = 40_000;
    expect(see(starts, ['10.0.0.1'])).to.equal(undefined);
    now = 100_000;
    expect(see(starts, [])).to.equal(40);
    now = 130_500;
    expect(see(starts, [])).to.equal(10);
    now = 200_000;
    expect(see(starts, []), 'it takes longer this time').to.equal(5);
    expect(see(starts, [], { name: 'other' })).to.equal(undefined);
  });

  it('is at most a minute, and nothing is learned of one that is paused meanwhile', () => {
    now = 0;
    const starts = new StartTimes(() => now);
    see(starts, []);
    now = 10_000;
    see(starts, [], { paused: true });
    now = 20_000;
    expect(see(starts, [])).to.equal(undefined);
    now = 320_000;
    see(starts, ['10.0.0.1']);
    expect(see(starts, [])).to.equal(60);
  });

  it('is not known while nothing starts, of a deployment that does not scale by itself', () => {
    now = 0;
    const starts = new StartTimes(() => now);
    see(starts, []);
    now = 40_000;
    see(starts, ['10.0.0.1']);
    expect(starts.estimateSeconds(config)).to.equal(undefined);
  });

  it('goes on where nobody asks for a while, and is another one where that was long ago', () => {
    const scaled = describeModel({ scaling: { min: 0, max: 1 } });
    const measured = { ...scaled, scaling: { ...scaled.scaling!, loadTimeMs: 50_000 } };
    now = 0;
    const starts = new StartTimes(() => now);
    starts.begin(measured);
    starts.lapse(measured);
    now = 30_000;
    starts.begin(measured);
    expect(starts.estimateSeconds(measured)).to.equal(20);
    now = 60_000;
    starts.begin(measured);
    expect(starts.estimateSeconds(measured), 'it is late').to.equal(5);
    starts.lapse(measured);
    starts.begin(measured);
    expect(starts.estimateSeconds(measured)).to.equal(50);
  });
});
