import { expect } from 'chai';
import type { ENGINES } from '../../../simulator/personality.ts';
import { type NamedEvent, readEvents } from '../../support/named-events.ts';
import { pollUntil } from '../../support/poll.ts';
import { chatOf, RunningSimulator, readStream, type StreamEnd } from './running-simulator.ts';

type Choice = { finish_reason: string | null; delta: { content?: string } };
const contents = ({ events }: StreamEnd): string[] =>
  events.flatMap(({ choices }) => (choices as Choice[]).map(({ delta }) => delta.content ?? ''));

describe('a simulator that poses as a real engine', () => {
  let simulator: RunningSimulator;
  afterEach(() => simulator.stop());
  const chat = (more: object = {}) => simulator.post('/v1/chat/completions', chatOf('Hello', more));

  describe('merges the tokens of a stream into frames', () => {
    it('as vLLM does, with the same text', async () => {
      simulator = await RunningSimulator.start({ settings: { tokens: 40 } });
      const one = contents(await readStream(await chat({ stream: true })));
      await simulator.putControl({ like: 'vllm' });
      const merged = contents(await readStream(await chat({ stream: true })));
      expect(one.length).to.be.greaterThan(40);
      expect(merged.length).to.be.lessThan(8);
      expect(merged.join('')).to.equal(one.join(''));
    });

    for (const [path, body, read] of [
      ['/v1/responses', { input: 'Hello' }, ({ delta }: NamedEvent) => delta],
      [
        '/v1/messages',
        { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
        ({ delta }: NamedEvent) => (delta as { text?: string } | undefined)?.text,
      ],
    ] as const)
      it(`as vLLM does, in the events of ${path}`, async () => {
        simulator = await RunningSimulator.start({ settings: { tokens: 40 } });
        const ask = async () => {
          const response = await simulator.post(path, { ...body, stream: true });
          const events = readEvents(Buffer.from(await response.arrayBuffer()).toString('latin1'));
          const numbers = events.flatMap(({ sequence_number: number }) => number ?? []);
          expect(numbers).to.deep.equal([...numbers.keys()]);
          return events.map(read).filter((text) => typeof text === 'string');
        };
        const one = await ask();
        await simulator.putControl({ like: 'vllm' });
        const merged = await ask();
        expect(one.length).to.be.at.least(40);
        expect(merged.length).to.be.lessThan(8);
        expect(merged.join('')).to.equal(one.join(''));
      });

    it('as vLLM does for completions, and never across choices', async () => {
      simulator = await RunningSimulator.start({ settings: { tokens: 28, like: 'vllm' } });
      const one = await readStream(await simulator.post('/v1/completions', { prompt: 'a', stream: true }));
      const two = await readStream(
        await simulator.post('/v1/completions', { prompt: 'a', n: 2, stream: true }),
      );
      expect(one.events).to.have.lengthOf(3);
      expect(two.events).to.have.lengthOf(2 * 29);
    });
  });

  describe('words an error', () => {
    const shapes: [like: (typeof ENGINES)[number], body: object][] = [
      [
        'vllm',
        { error: { message: 'Loading model', type: 'ServiceUnavailableError', param: null, code: 503 } },
      ],
      [
        'sglang',
        {
          object: 'error',
          message: 'Loading model',
          type: 'ServiceUnavailableError',
          param: null,
          code: 503,
        },
      ],
      ['tei', { message: 'Loading model', code: 503, type: 'Unhealthy' }],
      [
        'vllm-omni',
        { error: { message: 'Loading model', type: 'ServiceUnavailableError', param: null, code: 503 } },
      ],
      ['sglang-diffusion', { detail: 'Loading model' }],
      ['llama-cpp', { error: { code: 503, message: 'Loading model', type: 'ServiceUnavailableError' } }],
    ];
    for (const [like, body] of shapes)
      it(`as ${like} does`, async () => {
        simulator = await RunningSimulator.start({ startupSeconds: 60, settings: { like } });
        const response = await chat();
        expect(response.status).to.equal(503);
        expect(await response.json()).to.deep.equal(body);
      });
  });

  describe('bounds the inputs of TEI', () => {
    const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);
    const embed = (input: unknown, signal?: AbortSignal) =>
      simulator.post('/v1/embeddings', { input }, { signal });

    it('to 32 of a call', async () => {
      simulator = await RunningSimulator.start({ kind: 'Embedding', settings: { like: 'tei' } });
      expect((await embed(texts(32))).status).to.equal(200);
      const refused = await embed(texts(33));
      expect(refused.status).to.equal(413);
      expect(await refused.json()).to.deep.equal({
        message: 'batch size 33 > maximum allowed batch size 32',
        code: 413,
        type: 'Validation',
      });
    });

    it('to 512 under way: one that comes alone is refused, others wait', async () => {
      simulator = await RunningSimulator.start({
        kind: 'Embedding',
        settings: { like: 'tei', ttftMs: 60_000 },
      });
      const leaving = new AbortController();
      const batches = Array.from({ length: 16 }, () => embed(texts(32), leaving.signal).catch(() => null));
      await pollUntil(async () => (await simulator.readControl()).inflight === 16);
      const refused = await embed('a');
      expect(refused.status).to.equal(429);
      expect(await refused.json()).to.include({ message: 'Model is overloaded', type: 'Overloaded' });
      batches.push(embed(['a'], leaving.signal).catch(() => null));
      await pollUntil(async () => (await simulator.readControl()).inflight === 17);
      leaving.abort();
      await Promise.all(batches);
      await pollUntil(async () => (await simulator.readControl()).inflight === 0);
      await simulator.putControl({ ttftMs: 0 });
      expect((await embed('a')).status).to.equal(200);
    });

    it('and tells tokens and itself in its own words', async () => {
      simulator = await RunningSimulator.start({ kind: 'Embedding', settings: { like: 'tei' } });
      const [pieces] = (await (await simulator.post('/tokenize', { inputs: 'Grüße' })).json()) as {
        id: number;
        text: string;
      }[][];
      expect(pieces!.map(({ text }) => text).join('')).to.equal('Grüße');
      const decoded = await simulator.post('/decode', { ids: pieces!.map(({ id }) => id) });
      expect(await decoded.json()).to.deep.equal(['Grüße']);
      const info = () => fetch(`${simulator.url}/info`);
      expect(await (await info()).json()).to.deep.include({ max_client_batch_size: 32 });
      await simulator.putControl({ like: null });
      expect([(await info()).status, (await simulator.post('/decode', { ids: [1] })).status]).to.deep.equal([
        404, 404,
      ]);
    });

    it('and ranks by its own route alone', async () => {
      simulator = await RunningSimulator.start({ kind: 'Rerank' });
      const question = { query: 'ships', texts: ['bread', 'ships'] };
      expect((await simulator.post('/rerank', question)).status).to.equal(404);
      await simulator.putControl({ like: 'tei' });
      const ranks = (await (await simulator.post('/rerank', question)).json()) as { index: number }[];
      expect(ranks.map(({ index }) => index)).to.deep.equal([1, 0]);
      const refused = await simulator.post('/rerank', { ...question, texts: texts(33) });
      expect(await refused.json()).to.deep.equal({
        error: 'batch size 33 > maximum allowed batch size 32',
        error_type: 'Validation',
      });
    });
  });

  describe('answers its health check', () => {
    const check = () => fetch(`${simulator.url}/health`);

    for (const like of ['vllm', 'sglang', 'tei'] as const)
      it(`well while nothing is asked of ${like}`, async () => {
        simulator = await RunningSimulator.start({ settings: { like } });
        expect((await check()).status).to.equal(200);
      });

    it('behind the work of TEI', async () => {
      simulator = await RunningSimulator.start({
        kind: 'Embedding',
        settings: { like: 'tei', ttftMs: 60_000 },
      });
      const leaving = new AbortController();
      const work = simulator
        .post('/v1/embeddings', { input: 'a' }, { signal: leaving.signal })
        .catch(() => null);
      await pollUntil(async () => (await simulator.readControl()).inflight === 1);
      const checked = check();
      expect(await Promise.race([checked, simulator.readControl()])).not.to.be.instanceOf(Response);
      leaving.abort();
      await work;
      expect((await checked).status).to.equal(200);
    });

    it('once output of SGLang is newer than the check', async () => {
      simulator = await RunningSimulator.start({ settings: { like: 'sglang', ttftMs: 1_200, tokens: 1 } });
      const start = performance.now();
      const work = chat({ stream: true });
      await pollUntil(async () => (await simulator.readControl()).inflight === 1);
      expect((await check()).status).to.equal(200);
      expect(performance.now() - start).to.be.greaterThan(1_200);
      await work;
    });
  });
});
