/** What goes wrong with a real engine, and what its clients then see. */
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { ask, assemble, type Fields, readFrames, send } from './answers.ts';
import { readEngine } from './catalog.ts';
import { addedLatency, tellMeasure } from './measures.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const CHAT = '/chat/completions';
const PLACES = 8;
/** As long as can be, and such that some tests wait for its end. */
const LONG_TOKENS = engine.context! - 250;
const ENDING_TOKENS = 400;
const RESTART_TIMEOUT_MS = 180_000;
/** A second, and what a busy machine adds. */
const FREED_MS = 3_000;

const chat = (max_tokens: number, fields: Fields = {}): Fields => ({
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens,
  ignore_eos: true,
  temperature: 0,
  ...fields,
});

interface Stream {
  status: number;
  /** The frames so far. */
  frames: string[];
  ended: Promise<void>;
  leave(): void;
}

async function open(served: ServedModel, max_tokens: number): Promise<Stream> {
  const leaving = new AbortController();
  const body = chat(max_tokens, { stream: true, stream_options: { include_usage: true } });
  const response = await send(served.gateway, CHAT, body, leaving.signal);
  const frames: string[] = [];
  const read = async () => {
    let rest = '';
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const end = (rest + text).lastIndexOf('\n') + 1;
      frames.push(...readFrames((rest + text).slice(0, end)));
      rest = (rest + text).slice(end);
    }
  };
  // A client that left gets an error, which it knows of.
  const ended = read().catch(() => {});
  return { status: response.status, frames, ended, leave: () => leaving.abort() };
}

const untilFrames = (stream: Stream, count: number) =>
  pollUntil(() => stream.frames.length >= count, `${count} frames`);
const read = (stream: Stream): Fields =>
  assemble(stream.frames.filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame)));

describe(`a fault with ${name}`, function () {
  this.timeout(660_000);
  let served: ServedModel;
  before(async () => {
    served = await serveModel(name, {
      spec: { concurrency: PLACES, limits: { waitForSlot: '60s', requestTimeout: '10m' } },
    });
  });
  after(() => served?.stop());

  const untilRestarted = async (before: number) => {
    await pollUntil(async () => (await served.restarts()) > before, 'a restart', RESTART_TIMEOUT_MS);
    await pollUntil(
      async () => (await ask(served.gateway, CHAT, chat(1))).status === 200,
      'it to serve again',
      RESTART_TIMEOUT_MS,
    );
  };

  it('frees the engine when a client leaves', async () => {
    const stream = await open(served, LONG_TOKENS);
    await untilFrames(stream, 3);
    expect(await served.countRunning()).to.equal(1);
    const start = performance.now();
    stream.leave();
    await pollUntil(async () => (await served.countRunning()) === 0, 'the engine to be free', FREED_MS);
    tellMeasure('freed after a client left', `${((performance.now() - start) / 1000).toFixed(2)} s`);
  });

  it('completes more streams than the engine has places, one after the other', async () => {
    const answers = await Promise.all(
      Array.from({ length: 3 * PLACES }, () =>
        ask(served.gateway, CHAT, chat(16, { stream: true, stream_options: { include_usage: true } })),
      ),
    );
    for (const { status, isWhole, body } of answers) {
      expect([status, isWhole]).to.deep.equal([200, true]);
      expect((body.usage as { completion_tokens: number }).completion_tokens).to.equal(16);
    }
  });

  it('answers 429 with Retry-After while all places are taken for longer than a request may wait', async () => {
    await served.patch({ limits: { waitForSlot: '1s' } });
    const streams = await Promise.all(Array.from({ length: PLACES }, () => open(served, LONG_TOKENS)));
    try {
      await pollUntil(
        async () => {
          const response = await send(served.gateway, CHAT, chat(1));
          const { error } = (await response.json()) as { error?: { code: string } };
          if (response.status === 200) return false;
          expect([response.status, error!.code]).to.deep.equal([429, 'replica_saturated']);
          expect(Number(response.headers.get('retry-after'))).to.be.at.least(1);
          return true;
        },
        'a refusal',
        20_000,
      );
    } finally {
      for (const stream of streams) stream.leave();
    }
    await pollUntil(async () => (await served.countRunning()) === 0, 'the engine to be free');
  });

  it('adds little to the time that the engine takes', async () => {
    const { direct, gateway } = await addedLatency(served, CHAT, chat(16));
    tellMeasure('added latency', `${(gateway - direct).toFixed(1)} ms to ${direct.toFixed(1)} ms`);
    expect(gateway / direct).to.be.below(2);
  });

  it('lets a stream end when its pod is replaced', async () => {
    const stream = await open(served, ENDING_TOKENS);
    await untilFrames(stream, 3);
    await served.deletePod();
    await stream.ended;
    expect(stream.frames.at(-1)).to.equal('[DONE]');
    const { completion_tokens } = read(stream).usage as { completion_tokens: number };
    expect(completion_tokens).to.equal(ENDING_TOKENS);
    await served.untilReady();
  });

  it('ends a stream with an error when the engine is killed, and starts the engine again', async () => {
    const before = await served.restarts();
    const stream = await open(served, LONG_TOKENS);
    await untilFrames(stream, 3);
    served.signal('SIGKILL', engine.worker);
    const start = performance.now();
    await stream.ended;
    tellMeasure(
      'error event after the engine was killed',
      `${((performance.now() - start) / 1000).toFixed(2)} s`,
    );
    expect(stream.frames.at(-1), stream.frames.slice(-3).join('\n')).to.match(/"code":"upstream_error"/);
    await untilRestarted(before);
  });

  it('never ends a stream as if it were whole when the engine is told to stop in its midst', async () => {
    const before = await served.restarts();
    const streams = await Promise.all(Array.from({ length: 4 }, () => open(served, LONG_TOKENS)));
    for (const stream of streams) await untilFrames(stream, 3);
    served.signal('SIGTERM');
    for (const stream of streams) {
      await stream.ended;
      if (stream.frames.at(-1) !== '[DONE]') {
        expect(stream.frames.at(-1)).to.match(/"code":"(upstream_error|temporarily_unavailable)"/);
        continue;
      }
      const { completion_tokens } = read(stream).usage as { completion_tokens: number };
      expect(completion_tokens).to.equal(LONG_TOKENS);
    }
    await untilRestarted(before);
  });
});
