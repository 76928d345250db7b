import { expect } from 'chai';
import { LoopTurns, type Steps } from '../../../kit/loop-turns.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { rejection } from '../../support/redis-client.ts';

describe('turns of the event loop', () => {
  const setUp = () => {
    const clock = new FakeClock();
    const turns = new LoopTurns(clock);
    const log: string[] = [];
    /** Takes so many milliseconds in each step. */
    function* work(name: string, ...steps: number[]): Steps<string> {
      for (const ms of steps) {
        log.push(name);
        clock.elapse(ms);
        yield;
      }
      return name;
    }
    return { clock, turns, log, work };
  };

  it('begin at once where nobody has used the loop, and steps of a few milliseconds are one turn', async () => {
    const { turns, log, work } = setUp();
    const result = turns.run('a', work('a', 0.5, 0.5, 0.5));
    expect(log.join('')).to.equal('aaa');
    expect(await result).to.equal('a');
  });

  it('leave the loop to others for as long as they took', async () => {
    const { clock, turns, log, work } = setUp();
    const result = turns.run('a', work('a', 30, 1));
    expect(log).to.have.length(1);
    await clock.advance(29);
    expect(log).to.have.length(1);
    await clock.advance(1);
    expect(log).to.have.length(2);
    expect(await result).to.equal('a');
  });

  it('come next for an owner who comes while another has much to do', async () => {
    const { clock, turns, log, work } = setUp();
    const results = [1, 2, 3].map(() => turns.run('expensive', work('e', 10, 10, 10)));
    const honest = turns.run('honest', work('h', 3));
    await clock.advance(500);
    expect(log.join('')).to.match(/^ehe+$/);
    expect(log).to.have.length(10);
    expect(await Promise.all([...results, honest])).to.have.length(4);
  });

  it('come next for an owner that waited for something', async () => {
    const { clock, turns, log } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    function* waiting(): Steps<string> {
      log.push('w');
      yield promise;
      log.push('w');
      return 'done';
    }
    function* busy(): Steps<void> {
      for (let index = 0; index < 20; index++) {
        log.push('b');
        clock.elapse(5);
        yield;
      }
    }
    const waited = turns.run('waiting', waiting());
    const result = turns.run('busy', busy());
    await clock.advance(20);
    expect(log.join('')).to.match(/^wb+$/);
    resolve();
    await clock.advance(12);
    expect(log.join('')).to.match(/^wb+wb*$/);
    await clock.advance(500);
    expect(await waited).to.equal('done');
    await result;
  });

  it('are not needed for work of those who owe nothing, but that is charged', async () => {
    const { clock, turns, log } = setUp();
    const cheap = (name: string, ms: number) => () => {
      log.push(name);
      clock.elapse(ms);
      return name;
    };
    expect(turns.take('a', cheap('a', 10))).to.equal('a');
    expect(turns.take('b', cheap('b', 0))).to.equal('b');
    const second = turns.take('a', cheap('a', 10));
    expect(second).to.be.instanceOf(Promise);
    expect(log.join('')).to.equal('ab');
    await clock.advance(10);
    expect(await second).to.equal('a');
  });

  it('are shared by short work that waits: it needs no pause of its own', async () => {
    const { clock, turns } = setUp();
    let done = 0;
    const spend = (ms: number) => () => {
      clock.elapse(ms);
      done++;
    };
    turns.take('a', spend(1));
    const waiting = Array.from({ length: 100 }, () => turns.take('a', spend(0.01)));
    expect(done).to.equal(1);
    await clock.advance(1);
    expect(done).to.equal(101);
    await Promise.all(waiting);
    clock.elapse(1);
    expect(turns.take('a', spend(0.01))).not.to.be.instanceOf(Promise);
  });

  it('of a few milliseconds end where much short work waits, and others come next', async () => {
    const { clock, turns, log } = setUp();
    const spend = (name: string) => () => {
      clock.elapse(0.5);
      log.push(name);
    };
    turns.take('a', spend('a'));
    for (let index = 0; index < 40; index++) void turns.take('a', spend('a'));
    await clock.advance(0.5);
    expect(log).to.have.length(5);
    void turns.take('b', spend('b'));
    void turns.take('b', spend('b'));
    await clock.advance(2);
    expect(log.slice(5, 9).join('')).to.contain('b');
    expect(log).to.have.length(10);
    await clock.advance(100);
    expect(log).to.have.length(43);
  });

  it('charge for work that fails', async () => {
    const { clock, turns } = setUp();
    const fail = () => {
      clock.elapse(10);
      throw new Error('refused');
    };
    expect(() => turns.take('a', fail)).to.throw('refused');
    const second = turns.take('a', fail);
    expect(second).to.be.instanceOf(Promise);
    const failure = rejection(second as Promise<unknown>);
    await clock.advance(10);
    expect(String(await failure)).to.contain('refused');
  });
});
