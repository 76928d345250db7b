import { expect } from 'chai';
import { PeriodicTask } from '../../../kit/periodic-task.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const INTERVAL_MS = 1_000;

describe('a periodic task', () => {
  let clock: FakeClock;
  let runs: PromiseWithResolvers<void>[];
  let errors: string[];
  let task: PeriodicTask;

  beforeEach(() => {
    clock = new FakeClock();
    runs = [];
    errors = [];
    task = new PeriodicTask({
      run: () => {
        const run = Promise.withResolvers<void>();
        runs.push(run);
        return run.promise;
      },
      intervalMs: INTERVAL_MS,
      onError: ({ message }) => errors.push(message),
      clock,
    });
  });

  const end = async (error?: Error) => {
    if (error) runs.at(-1)!.reject(error);
    else runs.at(-1)!.resolve();
    await new Promise(setImmediate);
  };

  it('runs at once, and again an interval after the last run has ended', async () => {
    task.start();
    await clock.advance(10 * INTERVAL_MS);
    expect(runs).to.have.length(1);
    await end();
    await clock.advance(INTERVAL_MS - 1);
    expect(runs).to.have.length(1);
    await clock.advance(1);
    expect(runs).to.have.length(2);
  });

  it('runs first after a delay where it is told so', async () => {
    task.start(2 * INTERVAL_MS);
    await clock.advance(2 * INTERVAL_MS - 1);
    expect(runs).to.have.length(0);
    await clock.advance(1);
    expect(runs).to.have.length(1);
    await end();
    await clock.advance(INTERVAL_MS);
    expect(runs).to.have.length(2);
  });

  it('reports a run that failed, and goes on', async () => {
    task.start();
    await end(new Error('broken'));
    await clock.advance(INTERVAL_MS);
    expect(errors).to.deep.equal(['broken']);
    expect(runs).to.have.length(2);
  });

  it('stops once the run under way has ended', async () => {
    task.start();
    let isStopped = false;
    const stopping = task.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(INTERVAL_MS);
    expect(isStopped).to.equal(false);
    await end();
    await stopping;
    await clock.advance(10 * INTERVAL_MS);
    expect(runs).to.have.length(1);
  });
});
