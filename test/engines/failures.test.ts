/** Failures of a real engine, from its clients' view. */
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { ask, type Fields, send } from './answers.ts';
import { readEngine } from './catalog.ts';
import { addedLatency, tellMeasure } from './measures.ts';
import { type OpenStream, openStream, readStream } from './open-stream.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const CHAT = '/chat/completions';
const PLACES = 8;
/** As long as possible; some tests wait for its end. */
const LONG_TOKENS = engine.context! - 250;
const ENDING_TOKENS = 400;
/** The engine has generated little of it when it is stopped, and completes it before it is killed. */
const DRAINED_TOKENS = 1_500;
/** On a busy machine, loading its libraries takes minutes. */
const RESTART_TIMEOUT_MS = 480_000;
/** A second, and time for a busy machine. */
const FREED_MS = 3_000;

/** Per million output tokens. */
const PRICE = 1_000;
/** Maximum average bytes of text per counted token. */
const MAX_MEAN_BYTES = 7;

interface Chunk {
  choices: { delta: { content?: string; reasoning?: string } }[];
}

const chat = (max_tokens: number, fields: Fields = {}): Fields => ({
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens,
  ignore_eos: true,
  temperature: 0,
  ...fields,
});

/** The dialects of text, each with a request for this many tokens. */
const DIALECTS: Record<string, (tokens: number) => Fields> = {
  [CHAT]: (tokens) => chat(tokens),
  '/responses': (tokens) => ({ input: 'hello', max_output_tokens: tokens, ignore_eos: true, temperature: 0 }),
  '/messages': (tokens) => chat(tokens),
};
const PATHS = Object.keys(DIALECTS);
const TOLD_PATHS = PATHS.filter((path) => path !== '/responses');
/** End of a complete stream. */
const WHOLE_END = /^\[DONE\]$|"type": ?"(response\.(completed|incomplete)|message_stop)"/;
/** End of a broken one. */
const BROKEN_END =
  /"code":"(upstream_error|temporarily_unavailable)"|^\{"type":"error","error":\{"type":"(api|overloaded)_error"/;
const isWhole = ({ frames }: OpenStream): boolean => WHOLE_END.test(frames.at(-1) ?? '');

const open = (served: ServedModel, tokens: number, path = CHAT): Promise<OpenStream> =>
  openStream(served.gateway, path, DIALECTS[path]!(tokens));
const untilFrames = (stream: OpenStream, count: number) =>
  pollUntil(() => stream.frames.length >= count, `${count} frames`);
const countTokens = (stream: OpenStream): number =>
  (readStream(stream).usage as { completion_tokens: number }).completion_tokens;

const readText = (frame: string): string =>
  (JSON.parse(frame) as Chunk).choices.map(({ delta }) => delta.reasoning ?? delta.content ?? '').join('');

/** An engine's server may send output long after the model generated it, even all of it. */
const QUIET_MS = 2_000;

/** Streams during which the model is halted, after all its output has been sent. */
async function openHalted(served: ServedModel, paths: readonly string[]): Promise<OpenStream[]> {
  for (;;) {
    const streams = await Promise.all(paths.map((path) => open(served, LONG_TOKENS, path)));
    for (const stream of streams) await untilFrames(stream, 3);
    served.signal('SIGSTOP', engine.worker);
    for (const stream of streams) await untilQuiet(stream);
    if (!streams.some(isWhole)) return streams;
    served.signal('SIGCONT', engine.worker);
  }
}

async function untilQuiet({ frames }: OpenStream): Promise<void> {
  let count = -1;
  let since = 0;
  await pollUntil(() => {
    if (frames.length !== count) since = performance.now();
    count = frames.length;
    return performance.now() - since > QUIET_MS;
  }, 'a pause of the stream');
}

describe(`a fault with ${name}`, function () {
  this.timeout(1_200_000);
  let served: ServedModel;
  before(async () => {
    served = await serveModel(name, {
      spec: {
        concurrency: PLACES,
        limits: { waitForSlot: '60s', requestTimeout: '10m' },
        pricing: { perMillionOutputTokens: String(PRICE) },
      },
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

  // The first test, since all others are charged, too.
  it('counts what went out to a client that leaves, though the engine’s server puts tokens together', async () => {
    const [stream] = (await openHalted(served, [CHAT])) as [OpenStream];
    try {
      stream.leave();
      await pollUntil(async () => (await served.spent()) > 0, 'the stream to be paid for');
    } finally {
      served.signal('SIGCONT', engine.worker);
    }
    const said = stream.frames.map(readText).filter((text) => text !== '');
    const bytes = said.reduce((sum, text) => sum + JSON.stringify(text).length - 2, 0);
    const counted = (await served.spent()) / PRICE;
    tellMeasure(
      'counted when a client left',
      `${counted} tokens for ${bytes} bytes in ${said.length} frames`,
    );
    expect(counted).to.be.within(Math.max(said.length, bytes / MAX_MEAN_BYTES), stream.frames.length + bytes);
    await pollUntil(async () => (await served.countRunning()) === 0, 'the engine to be free');
  });

  for (const path of PATHS)
    it(`frees the engine when a client leaves ${path}`, async () => {
      const stream = await open(served, LONG_TOKENS, path);
      await untilFrames(stream, 3);
      expect(await served.countRunning()).to.equal(1);
      const start = performance.now();
      stream.leave();
      await pollUntil(async () => (await served.countRunning()) === 0, 'the engine to be free', FREED_MS);
      tellMeasure(
        `freed after a client left ${path}`,
        `${((performance.now() - start) / 1000).toFixed(2)} s`,
      );
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
    expect(countTokens(stream)).to.equal(ENDING_TOKENS);
    await served.untilReady();
  });

  it('ends streams with an error when the engine is killed, and starts the engine again', async () => {
    const before = await served.restarts();
    const streams = await openHalted(served, PATHS);
    served.signal('SIGKILL', engine.worker);
    const start = performance.now();
    await Promise.all(streams.map(({ ended }) => ended));
    tellMeasure(
      'error event after the engine was killed',
      `${((performance.now() - start) / 1000).toFixed(2)} s`,
    );
    for (const { frames } of streams) expect(frames.at(-1), frames.slice(-3).join('\n')).to.match(BROKEN_END);
    await untilRestarted(before);
  });

  it('never ends a stream as if it were whole when the engine is told to stop in its midst', async () => {
    const before = await served.restarts();
    const streams = await Promise.all(Array.from({ length: 4 }, () => open(served, DRAINED_TOKENS)));
    for (const stream of streams) await untilFrames(stream, 3);
    served.signal('SIGTERM');
    // Some engines still accept requests, and never respond.
    const late = await Promise.all(Array.from({ length: 4 }, () => open(served, DRAINED_TOKENS)));
    for (const stream of [...streams, ...late.filter(({ status }) => status === 200)]) {
      await stream.ended;
      if (isWhole(stream)) expect(countTokens(stream)).to.equal(DRAINED_TOKENS);
      else expect(stream.frames.at(-1)).to.match(BROKEN_END);
    }
    await untilRestarted(before);
  });

  // vLLM then ends running requests with the reason "abort", except responses, which it reports as completed.
  if (name === 'vllm')
    it('never ends a stream as if it were whole when the engine gives its requests up', async () => {
      const [before] = await served.listAddresses();
      await served.patch({ engine: { args: [...engine.tinyModel('LLM').args, '--shutdown-timeout=0'] } });
      await pollUntil(
        async () => !(await served.listAddresses()).includes(before!),
        'another pod in its place',
        RESTART_TIMEOUT_MS,
      );
      await served.untilReady();
      const streams = await Promise.all(
        [...TOLD_PATHS, ...TOLD_PATHS].map((path) => open(served, LONG_TOKENS, path)),
      );
      for (const stream of streams) await untilFrames(stream, 3);
      served.signal('SIGTERM');
      for (const stream of streams) {
        await stream.ended;
        expect(stream.frames.at(-1), stream.frames.slice(-3).join('\n')).to.match(BROKEN_END);
      }
    });
});
