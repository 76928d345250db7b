/** What happens to calls in flight when the simulated engine is stopped. */
import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { chatOf, RunningSimulator, readStream } from './running-simulator.ts';

describe('a simulator that poses as a real engine, at SIGTERM', () => {
  let simulator: RunningSimulator;
  afterEach(() => simulator.stop());
  const chat = (more: object = {}) => simulator.post('/v1/chat/completions', chatOf('Hello', more));

  it('lets calls in flight end', async () => {
    simulator = await RunningSimulator.start({ settings: { itlMs: 10, tokens: 20 } });
    const response = await chat({ stream: true });
    void simulator.stop(5_000);
    const { isDone, events } = await readStream(response);
    expect(isDone).to.equal(true);
    expect(finishes(events)).to.deep.equal(['stop']);
  });

  for (const [like, kind, ask] of [
    ['tei', 'Embedding', () => simulator.post('/v1/embeddings', { input: 'a' })],
    [
      'sglang-diffusion',
      'Image',
      () => simulator.post('/v1/images/generations', { prompt: 'a', size: '64x64' }),
    ],
  ] as const)
    it(`closes the port, and lets a call of a ${kind} end, as ${like} does`, async () => {
      const settings = { like, ttftMs: 500, jobSeconds: 0.5 };
      simulator = await RunningSimulator.start({ kind, settings });
      const answer = ask();
      await pollUntil(async () => (await simulator.readControl()).inflight === 1);
      const stopped = simulator.stop(5_000);
      await pollUntil(async () => !(await fetch(`${simulator.url}/health`).catch(() => null)));
      expect((await answer).status).to.equal(200);
      await stopped;
    });

  it('serves on as an engine that is not healthy until nothing is in flight, as SGLang does', async () => {
    simulator = await RunningSimulator.start({ settings: { like: 'sglang', itlMs: 20, tokens: 40 } });
    const first = await chat({ stream: true });
    const stopped = simulator.stop(10_000);
    expect((await fetch(`${simulator.url}/health`)).status).to.equal(503);
    const second = await chat({ stream: true });
    expect(second.status).to.equal(200);
    for (const { isDone, events } of await Promise.all([first, second].map(readStream))) {
      expect(isDone).to.equal(true);
      expect(finishes(events)).to.deep.equal(['stop']);
    }
    await stopped;
    expect(await chat().catch(() => 'refused')).to.equal('refused');
  });

  it('aborts streams in each of the ways of vLLM', async () => {
    simulator = await RunningSimulator.start({ settings: { like: 'vllm', itlMs: 60_000, tokens: 100 } });
    const responses = [];
    for (let count = 0; count < 3; count++) responses.push(await chat({ stream: true }));
    void simulator.stop(5_000);
    const ends = await Promise.all(responses.map(readStream));
    const ways = ends.map(({ isDone, events }) =>
      events.some(({ error }) => error) ? 'error' : isDone ? finishes(events).join() : 'silence',
    );
    expect(ways).to.have.members(['abort', 'silence', 'error']);
  });

  for (const [like, kind, ask] of [
    ['llama-cpp', 'LLM', () => chat({ stream: true }).then((response) => response.text())],
    ['llama-cpp', 'LLM', () => chat()],
    ['vllm-omni', 'Image', () => simulator.post('/v1/images/generations', { prompt: 'a', size: '64x64' })],
  ] as const)
    it(`closes the port, and keeps a call of a ${kind} for ever, as ${like} does`, async () => {
      const settings = { like, itlMs: 100, tokens: 1_000, jobSeconds: 60 };
      simulator = await RunningSimulator.start({ kind, settings });
      const isCut = ask().then(
        () => false,
        () => true,
      );
      await pollUntil(async () => (await simulator.readControl()).inflight === 1);
      const stopped = simulator.stop(1);
      await pollUntil(async () => !(await fetch(`${simulator.url}/health`).catch(() => null)));
      expect((await simulator.readControl()).inflight).to.equal(1);
      await simulator.stop(0);
      await stopped;
      expect(await isCut).to.equal(true);
    });

  it('answers a whole request of vLLM with what was said so far', async () => {
    simulator = await RunningSimulator.start({ settings: { like: 'vllm', ttftMs: 60_000 } });
    const response = chat();
    await pollUntil(async () => (await simulator.readControl()).inflight === 1);
    void simulator.stop(5_000);
    const { choices } = (await (await response).json()) as { choices: Choice[] };
    expect(choices.map(({ finish_reason }) => finish_reason)).to.deep.equal(['abort']);
  });
});

interface Choice {
  finish_reason: string | null;
}

const finishes = (events: Record<string, unknown>[]): string[] =>
  events.flatMap(({ choices }) => (choices as Choice[]).flatMap(({ finish_reason }) => finish_reason ?? []));
