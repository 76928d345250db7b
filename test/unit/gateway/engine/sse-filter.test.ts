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

/** Pushes a text in pieces of `size` bytes. */
function pass(text: string, size: number, options: Partial<SseFilterOptions> = {}): Passed {
  const filter = new SseFilter({ modelId: MODEL, isUsageWanted: false, ...options });
  const bytes = Buffer.from(text);
  let output = '';
  for (let start = 0; start < bytes.length; start += size)
    output += filter.push(bytes.subarray(start, start + size)) ?? '';
  output += filter.end() ?? '';
  return { text: Buffer.from(output, 'latin1').toString(), filter };
}

const parse = (text: string): object[] =>
  text
    .split('\n\n')
    .filter((each) => each.startsWith('data: {'))
    .map((each) => JSON.parse(each.slice(6)));

const SIZES = [1, 2, 3, 7, 50, 1_000_000];

describe('the filter of event streams', () => {
  it('hands whole chunks on as they are', () => {
    const filter = new SseFilter({ modelId: MODEL, isUsageWanted: false });
    const chunk = Buffer.from(frame('a') + frame('b'));
    expect(filter.push(chunk)).to.equal(chunk.toString('latin1'));
    expect(filter.estimatedTokens).to.equal(2);
  });

  for (const size of SIZES) {
    describe(`with chunks of ${size} bytes`, () => {
      it('passes a stream unchanged, and knows that it is complete', () => {
        const text = frame('größe') + frame(' "usage" {"error":1} [DONE]') + DONE;
        const { text: passed, filter } = pass(text, size);
        expect(passed).to.equal(text);
        expect(filter.isDone).to.equal(true);
        expect(filter.failure).to.equal(null);
        expect(filter.estimatedTokens).to.equal(10);
      });

      it("takes out the engine's fingerprint, wherever it is in a frame", () => {
        // vLLM 0.32 sends it in the frames that end, llama.cpp build 11669 in each.
        const print = { system_fingerprint: 'vllm-0.32.0-tp2-"1a2b3c4d' };
        const said = '"system_fingerprint":"x"';
        const write = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
        const [model, choices] = [{ model: MODEL }, { choices: [] }];
        const frames = [
          { ...print, ...model, ...choices },
          { ...model, ...print, ...choices },
        ];
        const { text } = pass(frames.map(write).join('') + frame(said, print) + DONE, size);
        expect(text).to.equal(write({ ...model, ...choices }).repeat(2) + frame(said) + DONE);
      });

      it('takes out the usage frame that the client did not ask for', () => {
        const { text, filter } = pass(frame('a') + usageFrame + DONE, size);
        expect(text).to.equal(frame('a') + DONE);
        expect(filter.usage).to.deep.equal({
          inputTokens: 3,
          outputTokens: 2,
          totalTokens: 5,
          cachedInputTokens: 0,
        });
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

      for (const end of ['\r\n', '\r'])
        it(`ends lines by LF, also where the engine ends them by ${JSON.stringify(end)}`, () => {
          const text = (frame('a') + usageFrame + frame('b') + DONE).replaceAll('\n', end);
          const { text: passed, filter } = pass(text, size);
          expect(passed).to.equal(frame('a') + frame('b') + DONE);
          expect(filter.isDone).to.equal(true);
        });

      it('passes frames by LF after a comment by CR LF', () => {
        const { text, filter } = pass(`: ping\r\n\r\n${frame('a')}: ping\r\n\r\n${frame('b')}${DONE}`, size);
        expect(text).to.equal(`: ping\n\n${frame('a')}: ping\n\n${frame('b')}${DONE}`);
        expect(filter.isDone).to.equal(true);
      });

      for (const [what, choices] of [
        ['no choices', undefined],
        ['choices of null', null],
      ] as const) {
        it(`takes out a usage frame with ${what}`, () => {
          const { text, filter } = pass(frame('a') + frame('', { choices, usage }) + DONE, size);
          expect(text).to.equal(frame('a') + DONE);
          expect(filter.usage!.totalTokens).to.equal(5);
        });

        it(`completes a usage frame with ${what}, where the client asked for usage`, () => {
          const first = frame('a', { object: 'chat.completion.chunk', created: 7, model: '/m.gguf' });
          const told = frame('', { id: undefined, model: undefined, choices, usage });
          const { text, filter } = pass(first + told + DONE, size, { isUsageWanted: true });
          expect(parse(text)[1]).to.deep.equal({
            id: 'x',
            object: 'chat.completion.chunk',
            created: 7,
            model: MODEL,
            choices: [],
            usage,
          });
          expect(filter.usage!.totalTokens).to.equal(5);
        });
      }

      it('completes a frame that has neither usage nor choices', () => {
        const { text } = pass(`${frame('a')}data: {"timings":{}}\n\n${DONE}`, size);
        expect(parse(text)[1]).to.deep.equal({ id: 'x', model: MODEL, timings: {}, choices: [] });
      });

      it('drops ids, retry times, names, unknown fields, and what has no JSON', () => {
        const text =
          `retry: 3000\n\nid: 1\n${frame('a')}: ping\n\nevent: chunk\n${frame('b')}event: ping\n\n` +
          `: x\nid\n\ndata:\n\ndata: beat\n\nfoo: 1\n${frame('c').trimEnd()}\nid: 2\n\nid: 3\n${DONE}`;
        const { text: passed, filter } = pass(text, size);
        expect(passed).to.equal(`${frame('a')}: ping\n\n${frame('b')}: x\n\n${frame('c')}${DONE}`);
        expect(filter).to.include({ isDone: true, estimatedTokens: 3 });
      });

      it('writes data of several lines as one', () => {
        const text = frame('a').replace(',"choices"', ',\ndata:"choices"');
        expect(parse(pass(text + DONE, size).text)).to.deep.equal(parse(frame('a')));
        expect(pass(text + DONE, size).text).to.match(/^data: .*\n\ndata: \[DONE\]\n\n$/);
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

      it('stops where the engine aborted a choice, and passes no end that looks complete', () => {
        const aborted = frame('', { choices: [{ index: 0, delta: {}, finish_reason: 'abort' }] });
        const { text, filter } = pass(frame('a') + aborted + usageFrame + DONE, size);
        expect(text).to.equal(frame('a'));
        expect(filter.failure!.code).to.equal('upstream_error');
        expect(filter.failure!.message).to.contain('aborted');
      });

      it('sees that the engine gave a request up before its first token, though the stream ends as if it were complete', () => {
        const role = frame('', { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
        const nothing = { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 };
        const { text, filter } = pass(role + frame('', { choices: [], usage: nothing }) + DONE, size);
        expect(text).to.equal(role);
        expect([filter.isDone, filter.failure?.code]).to.deep.equal([false, 'upstream_error']);
      });

      it('passes an answer of no tokens that has a reason to end', () => {
        const end = frame('', { choices: [{ index: 0, text: '', finish_reason: 'length' }] });
        const nothing = { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 };
        const { text, filter } = pass(end + frame('', { choices: [], usage: nothing }) + DONE, size);
        expect(text).to.equal(end + DONE);
        expect(filter.isDone).to.equal(true);
      });

      it('passes an answer that says "abort"', () => {
        const text = frame('abort') + frame('"abort"') + frame('"finish_reason":"abort"') + DONE;
        expect(pass(text, size).text).to.equal(text);
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

  describe('estimates the tokens that went out', () => {
    const words = Array.from({ length: 300 }, (_, index) => [' the', ' harbour', '.', ' engine'][index % 4]!);
    const estimate = (frames: string[]): number => pass(frames.join(''), 1000).filter.estimatedTokens;
    const merge = (most: number): string[] =>
      Array.from({ length: Math.ceil(300 / most) }, (_, index) =>
        frame(words.slice(index * most, (index + 1) * most).join('')),
      );

    it('one for each frame of an engine that keeps up', () => {
      expect(estimate(merge(1))).to.equal(300);
    });

    for (const most of [2, 3, 4, 8, 14, 26])
      it(`by the text of frames that carry ${most}`, () => {
        expect(estimate(merge(most))).to.be.within(300, 375);
      });

    it('of reasoning, of tool calls, and of what follows them', () => {
      const delta = (value: object): string => frame('', { choices: [{ index: 0, delta: value }] });
      const call = (text: string): string =>
        delta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
      const frames = [
        delta({ role: 'assistant', content: '' }),
        ...words.slice(0, 100).map((word) => delta({ reasoning_content: word })),
        ...words.slice(0, 100).map((word) => delta({ content: word })),
        delta({
          tool_calls: [{ index: 0, id: 'call_0123456789', type: 'function', function: { name: 'f' } }],
        }),
        ...words.slice(0, 100).map(call),
      ];
      expect(estimate(frames)).to.be.within(299, 303);
    });

    it('of completions', () => {
      expect(estimate(words.map((text) => frame('', { choices: [{ index: 0, text }] })))).to.equal(300);
    });

    it('none for frames without text', () => {
      const end = frame('', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      expect(estimate([frame(''), end])).to.be.at.most(1);
    });
  });

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
