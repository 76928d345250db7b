import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { chatOf, RunningSimulator } from './running-simulator.ts';

const PATH = '/v1/chat/completions';

describe('a simulator whose queue is full', () => {
  let simulator: RunningSimulator;
  const leaving = new AbortController();
  before(async () => {
    simulator = await RunningSimulator.start({
      settings: { maxConcurrency: 1, maxQueued: 1, ttftMs: 60_000 },
    });
    for (let count = 1; count <= 2; count++) {
      simulator.post(PATH, chatOf('x'), { signal: leaving.signal }).catch(() => {});
      await pollUntil(async () => (await simulator.readControl()).inflight === count);
    }
  });
  after(async () => {
    leaving.abort();
    await simulator.stop();
  });

  for (const stream of [false, true])
    it(`answers 503 as vLLM does, ${stream ? 'streamed' : 'whole'}`, async () => {
      await simulator.putControl({ like: 'vllm' });
      const response = await simulator.post(PATH, chatOf('y', { stream }));
      expect(response.status).to.equal(503);
      const { error } = (await response.json()) as { error: object };
      expect(error).to.include({ type: 'Service Unavailable', code: 503 });
      expect(error)
        .to.have.property('message')
        .that.matches(/cannot accept new requests/);
    });

  it('answers 503 as SGLang does, and begins a stream with its error', async () => {
    await simulator.putControl({ like: 'sglang' });
    const whole = await simulator.post(PATH, chatOf('y'));
    expect(whole.status).to.equal(503);
    expect(await whole.json()).to.include({
      object: 'error',
      message: 'The request queue is full.',
      code: 503,
    });
    const streamed = await simulator.post(PATH, chatOf('y', { stream: true }));
    expect(streamed.status).to.equal(200);
    const [first, last] = (await streamed.text()).split('\n\n');
    expect(JSON.parse(first!.replace('data: ', ''))).to.have.nested.property('error.code', 503);
    expect(last).to.equal('data: [DONE]');
  });
});
