import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Pool } from 'undici';
import { EngineSleep } from '../../../../gateway/capacity/engine-sleep.ts';
import { pollUntil } from '../../../support/poll.ts';
import { chatOf, RunningSimulator } from '../../simulator/running-simulator.ts';

describe('the sleep of an engine', () => {
  let engine: RunningSimulator;
  let pool: Pool;
  let isIdle: boolean;
  let isOffered: boolean;
  let changes: string[];
  let failures: number;
  let sleep: EngineSleep;

  const start = async (sleepMode = true) => {
    engine = await RunningSimulator.start({ sleepMode });
    pool = new Pool(engine.url);
    [isIdle, isOffered, changes, failures] = [true, true, [], 0];
    sleep = makeSleep();
  };
  const makeSleep = () =>
    new EngineSleep({
      pool: () => pool,
      isOffered: () => isOffered,
      isIdle: () => isIdle,
      onChange: (isAsleep) => changes.push(isAsleep ? 'asleep' : 'woken'),
      onWakeFailure: () => failures++,
      onError: (_, message) => changes.push(message),
    });
  const isSleeping = async () =>
    ((await (await fetch(`${engine.url}/is_sleeping`)).json()) as { is_sleeping: boolean }).is_sleeping;
  const untilAsleep = () => pollUntil(() => sleep.isAsleep, 'its sleep');

  afterEach(async () => {
    await pool?.destroy();
    await engine?.stop();
  });

  it('begins when it is told, and ends for whoever wants it', async () => {
    await start();
    sleep.check();
    await pollUntil(() => sleep.isAwake);
    sleep.setDesired(true);
    expect(sleep.isAwake).to.equal(false);
    await untilAsleep();
    expect(await isSleeping()).to.equal(true);
    await Promise.all([sleep.wake(), sleep.wake()]);
    expect([sleep.isAwake, await isSleeping()]).to.deep.equal([true, false]);
    expect(changes).to.deep.equal(['asleep', 'woken']);
  });

  it('is not for one that has work, nor again until it is asked again', async () => {
    await start();
    await sleep.wake();
    isIdle = false;
    sleep.setDesired(true);
    isIdle = true;
    sleep.setDesired(true);
    expect(sleep.isAwake).to.equal(true);
    sleep.setDesired(false);
    sleep.setDesired(true);
    await untilAsleep();
    await sleep.wake();
    sleep.setDesired(true);
    expect(sleep.isAwake).to.equal(true);
  });

  it('ends although it has not begun yet', async () => {
    await start();
    await sleep.wake();
    await engine.putControl({ sleepMs: 100 });
    sleep.setDesired(true);
    await sleep.wake();
    expect([sleep.isAwake, await isSleeping()]).to.deep.equal([true, false]);
  });

  it('is found by a gateway that has just started', async () => {
    await start();
    await fetch(`${engine.url}/sleep?level=1`, { method: 'POST' });
    expect(sleep.isAwake).to.equal(false);
    sleep.check();
    await untilAsleep();
    const other = makeSleep();
    await other.wake();
    expect([other.isAwake, await isSleeping()]).to.deep.equal([true, false]);
  });

  it('ends for work that waits, where somebody else began it', async () => {
    await start();
    await engine.putControl({ like: 'vllm' });
    await sleep.wake();
    await fetch(`${engine.url}/sleep?level=1`, { method: 'POST' });
    const answer = engine.post('/v1/chat/completions', chatOf('Hi'));
    await pollUntil(async () => (await engine.readControl()).requests === 1, 'the request');
    expect((await fetch(`${engine.url}/health`)).status).to.equal(200);
    sleep.recheck();
    expect((await answer).status).to.equal(200);
    await pollUntil(() => changes.includes('woken'));
    expect(changes).to.deep.equal(['asleep', 'woken']);
  });

  it('is told to have ended where somebody else ended it meanwhile', async () => {
    await start();
    await sleep.wake();
    sleep.setDesired(true);
    await untilAsleep();
    await fetch(`${engine.url}/wake_up`, { method: 'POST' });
    await sleep.wake();
    expect(changes).to.deep.equal(['asleep', 'woken']);
  });

  it('is not assumed for an engine that is quiet and awake', async () => {
    await start();
    await sleep.wake();
    sleep.recheck();
    expect(sleep.isAwake).to.equal(true);
    expect([sleep.isAwake, await isSleeping()]).to.deep.equal([true, false]);
    expect(changes).to.deep.equal([]);
  });

  it('comes once the engine is there, where it was told before', async () => {
    await start();
    sleep.setDesired(true);
    sleep.check();
    await untilAsleep();
  });

  it('is nothing for an engine that cannot, or is not to', async () => {
    await start(false);
    await sleep.wake();
    expect(sleep.isAwake).to.equal(true);
    sleep.setDesired(true);
    await pollUntil(() => changes.includes('could not put the engine to sleep'));
    await sleep.wake();
    isOffered = false;
    const other = makeSleep();
    other.setDesired(true);
    await pause(0);
    expect(other.isAwake).to.equal(true);
  });

  it('is tried again where waking failed, which is told once', async () => {
    await start();
    await sleep.wake();
    sleep.setDesired(true);
    await untilAsleep();
    const { url } = engine;
    await pool.destroy();
    const both = await Promise.allSettled([sleep.wake(), sleep.wake()]);
    expect(both.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(failures).to.equal(1);
    pool = new Pool(url);
    await sleep.wake();
    expect([await isSleeping(), failures]).to.deep.equal([false, 1]);
  });
});
