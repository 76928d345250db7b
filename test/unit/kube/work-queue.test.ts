import { expect } from 'chai';
import { KubeApiError } from '../../../kube/api-error.ts';
import {
  createWorkQueue,
  type Process,
  type ReconcileSample,
  type Requeue,
  type WorkQueueOptions,
} from '../../../kube/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { recordLog } from './recording-log.ts';

interface Run {
  key: string;
  at: number;
  signal: AbortSignal;
  succeed: (requeue?: Requeue) => void;
  fail: (error: unknown) => void;
}

describe('A work queue', () => {
  let clock: FakeClock;
  let runs: Run[];
  let samples: ReconcileSample[];
  let log: ReturnType<typeof recordLog>;
  beforeEach(() => {
    clock = new FakeClock();
    runs = [];
    samples = [];
    log = recordLog();
  });

  /** A queue whose runs the test ends. */
  function start(options: Partial<WorkQueueOptions> = {}) {
    const queue = createWorkQueue({
      name: 'test',
      clock,
      log,
      random: () => 1,
      onProcessed: (sample) => samples.push(sample),
      ...options,
    });
    queue.start(recordRun);
    return queue;
  }
  const recordRun: Process = (key, signal) =>
    new Promise((resolve, reject) => {
      runs.push({ key, at: clock.now(), signal, succeed: resolve as Run['succeed'], fail: reject });
    });
  const keys = () => runs.map(({ key }) => key);

  it('works on nothing before it is started, and then on all that was added', async () => {
    const queue = createWorkQueue({ name: 'test', clock });
    queue.add('a');
    queue.add('b');
    await settle();
    expect(keys()).to.deep.equal([]);
    queue.start(recordRun);
    await settle();
    expect(keys()).to.deep.equal(['a', 'b']);
  });

  it('works on changes before keys that are only resynced, and before those of the start', async () => {
    const queue = createWorkQueue({ name: 'test', clock, workers: 1 });
    for (const key of ['first', 'second', 'third']) queue.add(key);
    queue.start(recordRun);
    queue.add('resynced', 'slow');
    queue.add('changed');
    queue.add('third');
    for (let run = 0; run < 5; run++) {
      await settle();
      runs[run]!.succeed();
    }
    await settle();
    expect(keys()).to.deep.equal(['first', 'changed', 'third', 'second', 'resynced']);
  });

  it('gives every second turn to a key that has waited for ten seconds, whatever changes meanwhile', async () => {
    const queue = start({ workers: 1 });
    queue.add('running');
    for (const key of ['old-1', 'old-2']) queue.add(key, 'slow');
    await clock.advance(10_001);
    for (const key of ['new-1', 'new-2', 'new-3']) queue.add(key);
    for (let run = 0; run < 6; run++) {
      await settle();
      runs[run]!.succeed();
    }
    await settle();
    expect(keys()).to.deep.equal(['running', 'old-1', 'new-1', 'old-2', 'new-2', 'new-3']);
  });

  it('gives namespaces turns, so that none waits for all keys of another', async () => {
    const queue = start({ workers: 1 });
    for (const name of ['first', 'second', 'third', 'fourth']) queue.add(`busy/${name}`);
    queue.add('quiet/only');
    queue.add('other/only');
    for (let run = 0; run < 6; run++) {
      runs[run]!.succeed();
      await settle();
    }
    expect(keys()).to.deep.equal([
      'busy/first',
      'busy/second',
      'quiet/only',
      'other/only',
      'busy/third',
      'busy/fourth',
    ]);
  });

  it('tries a failing key again in its own lane', async () => {
    const queue = start({ workers: 1 });
    queue.add('resynced', 'slow');
    await settle();
    runs[0]!.fail(new Error('no'));
    await settle();
    queue.add('busy');
    await clock.advance(250);
    queue.add('changed');
    await settle();
    runs[1]!.succeed();
    await settle();
    runs[2]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['resynced', 'busy', 'changed', 'resynced']);
  });

  it('keeps a key once however often it is added', async () => {
    const queue = start({ workers: 1 });
    queue.add('busy');
    for (let i = 0; i < 3; i++) queue.add('a');
    expect(queue.depth()).to.equal(1);
    runs[0]!.succeed();
    await settle();
    runs[1]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['busy', 'a']);
  });

  it('never works on one key twice at a time, and again after a change meanwhile', async () => {
    const queue = start({ workers: 4 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    await settle();
    expect(keys()).to.deep.equal(['a']);
    runs[0]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['a', 'a']);
    runs[1]!.succeed();
    await settle();
    expect(queue.active()).to.equal(0);
  });

  it('works on as many keys at a time as it has workers', async () => {
    const queue = start({ workers: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(keys()).to.deep.equal(['a', 'b']);
    runs[1]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['a', 'b', 'c']);
  });

  it('takes the earliest of several times for a key', async () => {
    const queue = start();
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 3_000);
    await clock.advance(10_000);
    expect(runs.map(({ at }) => at)).to.deep.equal([1_000]);
    queue.addAfter('b', 5_000);
    queue.add('b');
    await clock.advance(10_000);
    expect(keys()).to.deep.equal(['a', 'b']);
  });

  it('processes a key again when its run requests it', async () => {
    const queue = start();
    queue.add('a');
    runs[0]!.succeed({ requeueAfterMs: 30_000 });
    await clock.advance(60_000);
    expect(runs.map(({ at }) => at)).to.deep.equal([0, 30_000]);
    expect(samples.map(({ outcome }) => outcome)).to.deep.equal(['requeued']);
  });

  it('backs off a failing key exponentially up to its limit, and starts over after a success', async () => {
    const queue = start({ backoff: { baseMs: 1_000, maxMs: 5_000 } });
    queue.add('a');
    for (let i = 0; i < 5; i++) {
      runs.at(-1)!.fail(new Error('broken'));
      await clock.advance(5_000);
    }
    const waits = runs.slice(1).map(({ at }, i) => at - i * 5_000);
    expect(waits).to.deep.equal([1_000, 2_000, 4_000, 5_000, 5_000]);
    expect(queue.failing()).to.equal(1);
    runs.at(-1)!.succeed({ requeueAfterMs: 0 });
    await clock.advance(0);
    expect(queue.failing()).to.equal(0);
    const before = clock.now();
    runs.at(-1)!.fail(new Error('broken'));
    await clock.advance(5_000);
    expect(runs.at(-1)!.at - before).to.equal(1_000);
  });

  it('lets one key back off while another goes on', async () => {
    const queue = start({ workers: 1 });
    queue.add('bad');
    runs[0]!.fail(new Error('broken'));
    await settle();
    queue.add('good');
    expect(keys()).to.deep.equal(['bad', 'good']);
  });

  it('tries again after a conflict soon and without a warning', async () => {
    const queue = start({ backoff: { baseMs: 60_000, maxMs: 60_000 } });
    queue.add('a');
    runs[0]!.fail(new KubeApiError({ code: 409, reason: 'Conflict', call: 'update x' }, 'changed'));
    await clock.advance(1_000);
    expect(runs).to.have.length(2);
    expect(samples[0]!.outcome).to.equal('conflict');
    expect(log.lines).to.deep.equal(['debug conflict, retrying']);
  });

  it('aborts a run at its deadline and gives its worker to another key, never to the same', async () => {
    const queue = start({ workers: 1, deadlineMs: 1_000 });
    queue.add('stuck');
    queue.add('next');
    await clock.advance(1_000);
    expect(runs[0]!.signal.aborted).to.equal(true);
    expect(keys()).to.deep.equal(['stuck', 'next']);
    queue.add('stuck');
    runs[1]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['stuck', 'next']);
    runs[0]!.succeed();
    await settle();
    expect(keys()).to.deep.equal(['stuck', 'next', 'stuck']);
    runs[2]!.succeed();
    await settle();
    queue.add('one');
    queue.add('two');
    expect(queue.active()).to.equal(1);
  });

  it('forgets the failures and the timer of a key whose object is gone', async () => {
    const queue = start();
    queue.add('a');
    runs[0]!.fail(new Error('broken'));
    await settle();
    queue.delete('a');
    await clock.advance(600_000);
    expect(runs).to.have.length(1);
    expect(queue.failing()).to.equal(0);
  });

  it('stops when its runs have ended, takes no more, and leaves no timer', async () => {
    const queue = start({ workers: 1 });
    queue.add('running');
    queue.add('waiting');
    queue.addAfter('later', 1_000);
    let stopped = false;
    const stop = queue.stop(10_000).then(() => {
      stopped = true;
    });
    await settle();
    expect(stopped).to.equal(false);
    runs[0]!.succeed({ requeueAfterMs: 1 });
    await stop;
    queue.add('more');
    queue.addAfter('more', 1);
    await clock.advance(60_000);
    expect(keys()).to.deep.equal(['running']);
    expect(clock.pending).to.equal(0);
  });

  it('aborts what still runs when the time to drain is over', async () => {
    const queue = start();
    queue.add('slow');
    const stop = queue.stop(5_000);
    await clock.advance(4_999);
    expect(runs[0]!.signal.aborted).to.equal(false);
    await clock.advance(1);
    expect(runs[0]!.signal.aborted).to.equal(true);
    runs[0]!.fail(new Error('aborted'));
    await stop;
    expect(clock.pending).to.equal(0);
  });

  it('measures how long a key waited and how long it took', async () => {
    const queue = start({ workers: 1 });
    queue.add('a');
    queue.add('b');
    await clock.advance(2_000);
    runs[0]!.succeed();
    await clock.advance(3_000);
    runs[1]!.fail(new Error('broken'));
    await settle();
    expect(samples).to.deep.equal([
      { queue: 'test', outcome: 'success', lane: 'fast', seconds: 2, waitSeconds: 0 },
      { queue: 'test', outcome: 'error', lane: 'fast', seconds: 3, waitSeconds: 2 },
    ]);
  });
});
