import { expect } from 'chai';
import { SseFilter, type SseFilterOptions } from '../../../../gateway/engine/sse-filter.ts';

const MODEL = 'org/möwe';
const frame = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'x', model: MODEL, choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageFrame = frame('', { choices: [], usage });
const DONE = 'data: [DONE]\n\n';

interface Passed {
  text: string;
  filter: SseFilter;
}

/** Pushes a text in pieces of so many bytes. */
function pass(text: string, size: number, options: Partial<SseFilterOptions> = {}): Passed {
  const filter = new SseFilter({ modelId: MODEL, isUsageWanted: false, ...options });
  const bytes = Buffer.from(text);
  let output = '';
  for (let start = 0; start < bytes.length; start += size)
    output += filter.push(bytes.subarray(start, start + size)) ?? '';
  output += filter.end() ?? '';
  return { text: Buffer.from(output, 'latin1').toString(), filter };
}

const SIZES = [1, 2, 3, 7, 50, 1_000_000];

describe('the filter of event streams', () => {
  it('hands whole chunks on as they are', () => {
    const filter = new SseFilter({ modelId: MODEL, isUsageWanted: false });
    const chunk = Buffer.from(frame('a') + frame('b'));
    expect(filter.push(chunk)).to.equal(chunk.toString('latin1'));
    expect(filter.frames).to.equal(2);
  });

  for (const size of SIZES) {
    describe(`with chunks of ${size} bytes`, () => {
      it('passes a stream unchanged, and knows that it is complete', () => {
        const text = frame('größe') + frame(' "usage" {"error":1} [DONE]') + DONE;
        const { text: passed, filter } = pass(text, size);
        expect(passed).to.equal(text);
        expect(filter.isDone).to.equal(true);
        expect(filter.failure).to.equal(null);
        expect(filter.frames).to.equal(2);
      });

      it('takes out the usage frame that the client did not ask for', () => {
        const { text, filter } = pass(frame('a') + usageFrame + DONE, size);
        expect(text).to.equal(frame('a') + DONE);
        expect(filter.usage).to.deep.equal({ inputTokens: 3, outputTokens: 2, totalTokens: 5 });
      });

      it('leaves the usage frame that the client asked for', () => {
        const whole = frame('a') + usageFrame + DONE;
        const { text, filter } = pass(whole, size, { isUsageWanted: true });
        expect(text).to.equal(whole);
        expect(filter.usage!.totalTokens).to.equal(5);
      });

      it('takes the usage out of frames with choices, too', () => {
        const { text } = pass(frame('ä', { usage }) + DONE, size);
        expect(text).to.equal(frame('ä') + DONE);
      });

      it('puts the model id in the place of the engine’s own name', () => {
        const { text } = pass(
          frame('"model":"/m.gguf"', { model: '/m.gguf' }) + frame('b', { model: '/m.gguf' }) + DONE,
          size,
        );
        expect(text).to.equal(frame('"model":"/m.gguf"') + frame('b') + DONE);
      });

      it('keeps the lines of streams that end them with CR LF', () => {
        const text = (frame('a') + usageFrame + frame('b') + DONE).replaceAll('\n', '\r\n');
        const { text: passed, filter } = pass(text, size);
        expect(passed).to.equal((frame('a') + frame('b') + DONE).replaceAll('\n', '\r\n'));
        expect(filter.isDone).to.equal(true);
      });

      it('passes comments', () => {
        const text = `: ping\n\n${frame('a')}: ping\n\n${DONE}`;
        expect(pass(text, size).text).to.equal(text);
      });

      const complaints: [string, string, string][] = [
        ['nested', 'data: {"error":{"message":"it broke","code":500}}\n\n', 'it broke'],
        ['flat', 'data: {"object":"error","message":"it broke","code":500}\n\n', 'it broke'],
        ['detail', 'data: {"detail":"it broke"}\n\n', 'it broke'],
        ['text', 'data: {"error":"it broke"}\n\n', 'it broke'],
        ['event: error', 'event: error\ndata: {"error":{"message":"it broke"}}\n\n', 'it broke'],
        ['beside choices', frame('', { error: { message: 'it broke' } }), 'it broke'],
      ];
      for (const [shape, complaint, message] of complaints)
        it(`stops at an error frame: ${shape}`, () => {
          const { text, filter } = pass(frame('a') + complaint + frame('b') + DONE, size);
          expect(text).to.equal(frame('a'));
          expect(filter.failure!.code).to.equal('upstream_error');
          expect(filter.failure!.message).to.contain(message);
          expect(filter.isDone).to.equal(false);
        });

      it('passes no half frame when the stream breaks off', () => {
        const { text, filter } = pass(frame('a') + frame('b').slice(0, 30), size);
        expect(text).to.equal(frame('a'));
        expect(filter.isDone).to.equal(false);
      });

      it('takes a [DONE] without a blank line at the end', () => {
        const { text, filter } = pass(`${frame('a')}data: [DONE]`, size);
        expect(text).to.equal(frame('a') + DONE);
        expect(filter.isDone).to.equal(true);
      });
    });
  }

  it('drops what follows [DONE]', () => {
    expect(pass(frame('a') + DONE + frame('b'), 1000).text).to.equal(frame('a') + DONE);
  });

  it('does not mind "usage":null in every frame', () => {
    const text = frame('a', { usage: null }) + frame('b', { usage: null }) + DONE;
    expect(pass(text, 1000).text).to.equal(text);
  });

  it('finds the usage behind a "usage":null of the same chunk', () => {
    const { text, filter } = pass(frame('a', { usage: null }) + usageFrame + DONE, 10_000);
    expect(text).to.equal(frame('a', { usage: null }) + DONE);
    expect(filter.usage!.totalTokens).to.equal(5);
  });

  it('fails a frame without an end', () => {
    const filter = new SseFilter({ modelId: MODEL, isUsageWanted: false });
    for (let index = 0; index < 17 && !filter.failure; index++) filter.push(Buffer.alloc(1024 * 1024, 'x'));
    expect(filter.failure!.code).to.equal('upstream_error');
  });
});
