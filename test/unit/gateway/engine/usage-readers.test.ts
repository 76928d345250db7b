import { expect } from 'chai';
import type { TokenUsage } from '../../../../gateway/account/account.ts';
import {
  readMessagesUsage,
  readOpenAIUsage,
  readResponsesUsage,
  roundUsage,
} from '../../../../gateway/engine/answer.ts';
import { openMessagesDialect, RESPONSES_DIALECT } from '../../../../gateway/engine/event-dialects.ts';
import { EventFilter } from '../../../../gateway/engine/event-filter.ts';
import { dialectOf } from '../../../../gateway/engine/rerank-dialects.ts';
import { SseFilter } from '../../../../gateway/engine/sse-filter.ts';

/** What JSON can hold in the place of a count. */
const NONSENSE: unknown[] = [
  -1,
  -0.5,
  1e9 + 1,
  4_294_967_295,
  1e25,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  '10',
  '',
  true,
  [],
  {},
];
const show = (value: unknown): string => (typeof value === 'number' ? String(value) : JSON.stringify(value));

type Read = (input: unknown, output: unknown, cached?: unknown) => TokenUsage | null;
const READERS: Record<string, Read> = {
  'chats, completions and embeddings': (input, output, cached) =>
    readOpenAIUsage({
      prompt_tokens: input,
      completion_tokens: output,
      prompt_tokens_details: { cached_tokens: cached },
    }),
  responses: (input, output, cached) =>
    readResponsesUsage({
      input_tokens: input,
      output_tokens: output,
      input_tokens_details: { cached_tokens: cached },
    }),
  messages: (input, output, cached) =>
    readMessagesUsage({ input_tokens: input, output_tokens: output, cache_read_input_tokens: cached }),
  'streamed chats': (input, output, cached) => {
    const filter = new SseFilter({ modelId: 'm', isUsageWanted: true });
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      prompt_tokens_details: { cached_tokens: cached },
    };
    filter.push(Buffer.from(`data: ${writeJSON({ choices: [], usage })}\n\n`));
    return filter.usage;
  },
  'streamed responses': (input, output, cached) => {
    const filter = new EventFilter(RESPONSES_DIALECT, { isThorough: false, complete: () => false });
    const usage = {
      input_tokens: input,
      output_tokens: output,
      input_tokens_details: { cached_tokens: cached },
    };
    const event = { type: 'response.completed', response: { usage } };
    filter.push(Buffer.from(`event: response.completed\ndata: ${writeJSON(event)}\n\n`));
    return filter.usage;
  },
  'streamed messages': (input, output, cached) => {
    const filter = new EventFilter(openMessagesDialect(), { isThorough: false, complete: () => false });
    const message = { usage: { input_tokens: input, cache_read_input_tokens: cached, output_tokens: 0 } };
    const delta = {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: output },
    };
    const events = [{ type: 'message_start', message }, delta, { type: 'message_stop' }];
    for (const event of events)
      filter.push(Buffer.from(`event: ${event.type}\ndata: ${writeJSON(event)}\n\n`));
    return filter.usage;
  },
};

/** JSON has no infinite numbers, but digits that become one. */
const writeJSON = (value: object): string =>
  JSON.stringify(value, (_, each) =>
    each === Number.POSITIVE_INFINITY ? 'INFINITE' : Number.isNaN(each) ? 'NOT A NUMBER' : each,
  ).replace('"INFINITE"', '1e999');

for (const [what, read] of Object.entries(READERS))
  describe(`the usage of ${what}`, () => {
    const addsCached = what.endsWith('messages');

    it('is whole numbers: fractions are rounded up', () => {
      expect(read(10.5, 2.01, 0)).to.deep.equal({
        inputTokens: 11,
        outputTokens: 3,
        totalTokens: 14,
        cachedInputTokens: 0,
      });
      expect(read(10, 2, 0.2)?.cachedInputTokens).to.equal(1);
    });

    it('reaches to a billion', () => {
      expect(read(1e9, 1e9)).to.include({ inputTokens: 1e9, outputTokens: 1e9, totalTokens: 2e9 });
    });

    for (const value of NONSENSE)
      it(`counts as absent where a count is ${show(value)}`, () => {
        expect(read(value, 2), 'input').to.equal(null);
        expect(read(10, value), 'output').to.equal(null);
        expect(read(value, value), 'both').to.equal(null);
        // Messages add it to the input.
        expect(read(10, 2, value), 'cached').to.deep.equal(
          addsCached ? null : { inputTokens: 10, outputTokens: 2, totalTokens: 12, cachedInputTokens: 0 },
        );
      });

    it('may leave out what an engine does not count', () => {
      expect(read(10, undefined)).to.include({ inputTokens: 10, outputTokens: 0, totalTokens: 10 });
      expect(read(10, null)).to.include({ inputTokens: 10, outputTokens: 0, totalTokens: 10 });
      expect(read(undefined, undefined)).to.equal(null);
    });
  });

describe('the usage that a client reads', () => {
  const pass = (filter: SseFilter | EventFilter, text: string) => filter.push(Buffer.from(text)) ?? '';

  it('is rounded as it is charged, and left as it is otherwise', () => {
    const usage = {
      ...{ prompt_tokens: 10.5, completion_tokens: 2, total_tokens: 12.5, queue_time: 0.25 },
      prompt_tokens_details: { cached_tokens: 1.5 },
      cost: 0.001,
    };
    expect(roundUsage(usage)).to.equal(true);
    expect(usage).to.deep.equal({
      ...{ prompt_tokens: 11, completion_tokens: 2, total_tokens: 13, queue_time: 0.25 },
      prompt_tokens_details: { cached_tokens: 2 },
      cost: 0.001,
    });
    expect(roundUsage(usage)).to.equal(false);
    for (const other of [null, undefined, 'x', [], { prompt_tokens: -1.5 }, { prompt_tokens: '1.5' }])
      expect(roundUsage(other)).to.equal(false);
  });

  it('is rounded in streams, with the name of the model', () => {
    const frame = { model: 'engine', choices: [], usage: { prompt_tokens: 10.5, completion_tokens: 2 } };
    const filter = new SseFilter({ modelId: 'org/m', isUsageWanted: true });
    expect(pass(filter, `data: ${JSON.stringify(frame)}\n\n`)).to.equal(
      'data: {"model":"org/m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}\n\n',
    );
  });

  it('is rounded in the events of responses and messages', () => {
    const untouched = { isThorough: false, complete: () => false };
    const usage = { input_tokens: 10.5, output_tokens: 2 };
    const completed = { type: 'response.completed', response: { usage } };
    expect(
      pass(new EventFilter(RESPONSES_DIALECT, untouched), `data: ${JSON.stringify(completed)}\n\n`),
    ).to.include('"usage":{"input_tokens":11,"output_tokens":2}');
    const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage };
    expect(
      pass(new EventFilter(openMessagesDialect(), untouched), `data: ${JSON.stringify(delta)}\n\n`),
    ).to.include('"usage":{"input_tokens":11,"output_tokens":2}');
  });
});

describe('the total of OpenAI’s usage', () => {
  it('is used where it is a count, rounded up', () => {
    expect(readOpenAIUsage({ total_tokens: 10.5 })?.totalTokens).to.equal(11);
    expect(readOpenAIUsage({ prompt_tokens: 3, total_tokens: 7 })?.totalTokens).to.equal(7);
  });

  for (const value of NONSENSE)
    it(`is the sum of input and output where it is ${show(value)}`, () => {
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: value };
      expect(readOpenAIUsage(usage)?.totalTokens).to.equal(5);
      expect(readOpenAIUsage({ total_tokens: value })).to.equal(null);
    });

  for (const usage of [null, undefined, 5, 'none', [], [{ prompt_tokens: 1 }], {}])
    it(`is absent where usage is ${JSON.stringify(usage)}`, () => {
      for (const read of [readOpenAIUsage, readResponsesUsage, readMessagesUsage])
        expect(read(usage)).to.equal(null);
    });
});

describe('the tokens of a rerank', () => {
  const ranked = (tokens: unknown) => ({ index: 0, score: 1, meta_info: { prompt_tokens: tokens } });
  const readSGLang = (...tokens: unknown[]) => dialectOf('sglang').read(tokens.map(ranked))?.tokens;
  const readVLLM = (usage: unknown) => dialectOf('vllm').read({ results: [], usage })?.tokens;

  it('are whole numbers', () => {
    expect(readSGLang(10.5, 3)).to.equal(14);
    expect(readVLLM({ total_tokens: 10.5 })).to.equal(11);
  });

  for (const value of [...NONSENSE, undefined, null])
    it(`are estimated where one is ${show(value)}`, () => {
      expect(readSGLang(10, value)).to.equal(null);
      expect(readVLLM({ total_tokens: value })).to.equal(null);
    });
});
