import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { Activity } from '../../../../gateway/http/activity.ts';
import { Drain, type DrainOptions } from '../../../../gateway/sidecar/drain.ts';
import { pollUntil } from '../../../support/poll.ts';

const TIMING = { quietMs: 40, quietAtMostMs: 200, stepMs: 2 };

const openResponse = () => Object.assign(new EventEmitter(), { shouldKeepAlive: true, headersSent: false });

/** A new request has always just arrived. */
class NeverQuiet extends Activity {
  override get lastRequestAt(): number {
    return performance.now();
  }
}

describe('a drain', () => {
  let activity: Activity;
  beforeEach(() => {
    activity = new Activity();
  });

  const make = (options: Partial<DrainOptions> = {}) =>
    new Drain({ activity, isEngineLost: () => false, timeoutMs: 5_000, timing: TIMING, ...options });
  const request = () => {
    const res = openResponse();
    activity.track(res as unknown as ServerResponse);
    return res;
  };

  it('waits until no new request has come for a while, then for what is in flight', async () => {
    const drain = make();
    let isDone = false;
    const begun = performance.now();
    const result = drain.begin().finally(() => {
      isDone = true;
    });
    const res = request();
    await pollUntil(() => performance.now() - begun > 100, 'time');
    expect(isDone).to.equal(false);
    res.emit('close');
    expect(await result).to.equal('drained');
  });

  it('waits for work that is no request: jobs, and slots that an engine still holds', async () => {
    let work = 1;
    let isDone = false;
    const result = make({ countWork: () => work }).begin();
    void result.then(() => {
      isDone = true;
    });
    const begun = performance.now();
    await pollUntil(() => performance.now() - begun > 2 * TIMING.quietMs, 'time');
    expect(isDone).to.equal(false);
    work = 0;
    expect(await result).to.equal('drained');
  });

  it('does not wait for quiet for ever', async () => {
    const begun = performance.now();
    expect(await make({ activity: new NeverQuiet() }).begin()).to.equal('drained');
    expect(performance.now() - begun).to.be.at.least(TIMING.quietAtMostMs);
  });

  it('ends at its time limit whatever is in flight', async () => {
    request();
    expect(await make({ timeoutMs: 60 }).begin()).to.equal('timeout');
  });

  it('returns at once when the engine is lost', async () => {
    request();
    expect(await make({ isEngineLost: () => true }).begin()).to.equal('lost');
  });

  it('is not ended by an engine that was only slow, and ended by one that was restarted', async () => {
    request();
    const drain = make();
    let isDone = false;
    const result = drain.begin().finally(() => {
      isDone = true;
    });
    drain.cancel({ isRestarted: false });
    expect(drain.isDraining).to.equal(true);
    const begun = performance.now();
    await pollUntil(() => performance.now() - begun > 2 * TIMING.quietMs, 'time');
    expect(isDone).to.equal(false);
    drain.cancel({ isRestarted: true });
    expect(drain.isDraining).to.equal(false);
    expect(await result).to.equal('canceled');
  });

  it('is joined, not started again, by a second call', () => {
    const drain = make();
    expect(drain.begin()).to.equal(drain.begin());
  });

  it('ends when a restarted engine is healthy, and says so both times', async () => {
    const told: boolean[] = [];
    const drain = make({ isEngineLost: () => true });
    drain.onChange((isDraining) => told.push(isDraining));
    await drain.begin();
    expect(drain.isDraining).to.equal(true);
    drain.cancel({ isRestarted: true });
    drain.cancel({ isRestarted: true });
    expect(drain.isDraining).to.equal(false);
    expect(told).to.deep.equal([true, false]);
  });

  it('lets responses close their connections, also those that have not started yet', async () => {
    const waiting = request();
    const begun = request();
    begun.headersSent = true;
    const drain = make({ isEngineLost: () => true });
    await drain.begin();
    const later = request();
    drain.cancel({ isRestarted: true });
    const afterwards = request();
    const closing = [waiting, begun, later, afterwards].map(({ shouldKeepAlive }) => !shouldKeepAlive);
    expect(closing).to.deep.equal([true, false, true, false]);
  });

  it('that the loss of its engine ended is settled once no new request has come for a while', async () => {
    const drain = make({ isEngineLost: () => true });
    const begun = performance.now();
    await drain.begin();
    request().emit('close');
    await drain.settle();
    expect(performance.now() - begun).to.be.at.least(TIMING.quietMs);
  });

  it('settles without a drain, too, if its engine is lost and requests have just come', async () => {
    const lost = make({ isEngineLost: () => true });
    await lost.settle();
    request().emit('close');
    const begun = activity.lastRequestAt;
    await lost.settle();
    expect(performance.now() - begun).to.be.at.least(TIMING.quietMs);
  });

  it('does not settle for ever, nor beyond the time of the drain', async () => {
    const begun = performance.now();
    const busy = make({ activity: new NeverQuiet(), isEngineLost: () => true });
    await busy.begin();
    await busy.settle();
    expect(performance.now() - begun).to.be.at.least(TIMING.quietAtMostMs);
    const late = make({ activity: new NeverQuiet(), isEngineLost: () => true, timeoutMs: 0 });
    await late.begin();
    await late.settle();
  });

  it('has nothing to settle when it ended otherwise, or the engine works', async () => {
    const drain = make();
    await drain.begin();
    request();
    await drain.settle();
    await make().settle();
  });
});
