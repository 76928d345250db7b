import { expect } from 'chai';
import { BusyTime } from '../../../../gateway/capacity/busy-time.ts';
import type { Acquisition, EngineTarget } from '../../../../gateway/capacity/capacity.ts';
import { WakingCapacity } from '../../../../gateway/capacity/waking-capacity.ts';
import { EngineState } from '../../../../gateway/health/engine-state.ts';

const TARGET = { origin: 'http://127.0.0.1:1' } as EngineTarget;

describe('a place on an engine that sleeps', () => {
  let busy: BusyTime;
  let wakes: number;
  let isAwake: boolean;
  let engine: 'wakes' | 'fails' | 'hangs';
  /** The acquisition from a peer. */
  let elsewhere: Acquisition;

  const acquire = (signal = new AbortController().signal) => {
    const sleep = {
      get isAwake() {
        return isAwake;
      },
      wake: async () => {
        wakes++;
        if (engine === 'fails') throw new Error('/wake_up answered 500');
        if (engine === 'hangs') await new Promise(() => {});
        isAwake = true;
      },
    };
    const capacity = {
      acquire: () => (isAwake ? { target: TARGET } : elsewhere),
      acquireElsewhere: () => elsewhere,
    };
    return new WakingCapacity({ capacity, sleep, isEngineReady: () => true, busy }).acquire(signal);
  };
  beforeEach(() => {
    [busy, wakes, isAwake, engine] = [new BusyTime(), 0, false, 'wakes'];
    elsewhere = { refusal: 'no_pod_available' };
  });

  it('is had once it is awake, and counts as work until then', async () => {
    const acquired = acquire();
    expect(busy.level).to.equal(1);
    expect(await acquired).to.deep.equal({ target: TARGET });
    expect([wakes, busy.level]).to.deep.equal([1, 0]);
  });

  it('is had at a peer where it cannot be woken', async () => {
    [engine, elsewhere] = ['fails', { target: TARGET }];
    expect(await acquire()).to.deep.equal({ target: TARGET });
  });

  it('is refused where there is none elsewhere either', async () => {
    engine = 'fails';
    expect(await acquire()).to.deep.equal({ refusal: 'no_pod_available' });
    expect(busy.level).to.equal(0);
  });

  it('is waited for no longer than its request', async () => {
    engine = 'hangs';
    expect(await acquire(AbortSignal.abort())).to.deep.equal({ refusal: 'no_pod_available' });
    expect(busy.level).to.equal(0);
  });
});

describe('an engine that never wakes', () => {
  it('is restarted, although its health check is good', () => {
    const state = new EngineState(0, { needsProof: true });
    const isAlive = (at: number) => state.evaluate(at, 600_000).isAlive;
    for (let at = 0, work = 0; at <= 60_000; at += 15_000) {
      state.observe(at, { kind: 'probe', result: 'good' });
      state.observe(at, { kind: 'started', work: ++work });
      state.observe(at, { kind: 'ended', work, outcome: 'fault' });
      expect(isAlive(at)).to.equal(true);
    }
    expect(state.verdict.isInDoubt).to.equal(true);
    // A sleeping engine gives no result.
    state.observe(61_000, { kind: 'tried', result: 'unknown' });
    for (let at = 61_000; at <= 400_000; at += 5_000) {
      state.observe(at, { kind: 'probe', result: 'good' });
      expect(isAlive(at), String(at)).to.equal(false);
    }
  });
});
