import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { chatOf, RunningSimulator } from './running-simulator.ts';

const PATH = '/v1/chat/completions';
const PAUSE_MS = 50;

describe('a simulator that holds its calls while it is healthy', () => {
  let simulator: RunningSimulator;
  afterEach(() => simulator.stop());

  async function expectHeld(release: () => Promise<unknown>): Promise<void> {
    let isAnswered = false;
    const answer = simulator.post(PATH, chatOf('x')).then((response) => {
      isAnswered = true;
      return response;
    });
    await pollUntil(async () => (await simulator.readControl()).requests === 1);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    expect(isAnswered).to.equal(false);
    expect((await fetch(`${simulator.url}/health`)).status).to.equal(200);
    await release();
    expect((await answer).status).to.equal(200);
  }

  it('is paused', async () => {
    simulator = await RunningSimulator.start({ settings: { paused: true } });
    await expectHeld(() => simulator.putControl({ paused: false }));
  });

  it('is asleep as vLLM is', async () => {
    simulator = await RunningSimulator.start({ sleepMode: true, settings: { like: 'vllm' } });
    await fetch(`${simulator.url}/sleep`, { method: 'POST' });
    await expectHeld(() => fetch(`${simulator.url}/wake_up`, { method: 'POST' }));
  });
});
