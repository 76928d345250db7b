import { expect } from 'chai';
import { completeChoiceUsage, listPromptSizes } from '../../../../gateway/engine/choice-usage.ts';
import { SseFilter } from '../../../../gateway/engine/sse-filter.ts';
import type { JSONObject } from '../../../../kit/json.ts';

/** Recorded from llama-server build 11669, cut to what matters. */
const timings = (predicted: number) => ({ cache_n: 28, prompt_n: 1, predicted_n: predicted });
const usage = (prompt: number, completion: number, cached: number) => ({
  completion_tokens: completion,
  prompt_tokens: prompt,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
});
const chat = (...texts: string[]): JSONObject => ({
  choices: texts.map((content, index) => ({
    finish_reason: 'length',
    index,
    message: { role: 'assistant', content },
  })),
  model: 'm',
  object: 'chat.completion',
  usage: usage(29, 3, 0),
  timings: timings(3),
});
const completion = (...texts: string[]): JSONObject => ({
  choices: texts.map((text, index) => ({ text, index, logprobs: null, finish_reason: 'length' })),
  model: 'm',
  object: 'text_completion',
  usage: usage(13, 3, 2),
  timings: timings(3),
});
const frame = (body: object | null) => `data: ${JSON.stringify(body)}\n\n`;
const DONE = 'data: [DONE]\n\n';
const piece = (index: number, content: string) =>
  frame({ choices: [{ finish_reason: null, index, delta: { content } }], model: 'm' });
const told = (one: object) => frame({ choices: [], model: 'm', usage: one, timings: timings(3) });
const end = (index: number, one: object) =>
  frame({
    choices: [{ text: '', index, logprobs: null, finish_reason: 'length' }],
    model: 'm',
    usage: one,
    timings: timings(3),
  });

describe('usage that counts one choice', () => {
  describe('of a whole response', () => {
    const PROMPTS = { prompt: ['hello world', 'the cat is a cat in the world'] };
    const complete = (answer: JSONObject, { prompt }: { prompt?: unknown } = {}): unknown => {
      completeChoiceUsage(answer, listPromptSizes(prompt));
      return answer.usage;
    };

    it('counts the output of all choices, and the prompt once', () => {
      // All were cut by max_tokens; of control characters, each is a token.
      expect(complete(chat('"\u001el', 'erko', 'erber'))).to.deep.include({
        prompt_tokens: 29,
        completion_tokens: 9,
        total_tokens: 38,
      });
    });

    it('estimates the output of choices that ended by themselves, by its length', () => {
      const answer = chat('abcdef', 'abcd', 'abcdef');
      for (const choice of answer.choices as JSONObject[]) choice.finish_reason = 'stop';
      expect(complete(answer)).to.deep.include({ completion_tokens: 8 });
    });

    it('counts all prompts, by their length', () => {
      expect(complete(completion('abcde', 'abcdefghij'), PROMPTS)).to.deep.include({
        // 13 tokens of 11 characters; 29 more.
        prompt_tokens: 48,
        completion_tokens: 6,
        total_tokens: 54,
      });
    });

    it('counts all prompts that are token IDs', () => {
      const body = { prompt: [[1, 2, 3], [4]] };
      const answer = completion('ab', 'cd');
      answer.usage = usage(3, 3, 0);
      expect(complete(answer, body)).to.deep.include({ prompt_tokens: 4, completion_tokens: 6 });
    });

    it('stays as it is for one choice, and for an engine that counts all', () => {
      for (const answer of [
        chat('abc'),
        { ...chat('a', 'b'), timings: undefined },
        { ...chat('a', 'b'), timings: timings(1) },
      ])
        expect(complete(answer)).to.deep.equal(usage(29, 3, 0));
    });

    it('is estimated by the text where the first choice has none', () => {
      const answer = chat('', 'abcdefgh');
      (answer.choices as JSONObject[])[0]!.finish_reason = 'stop';
      answer.usage = usage(29, 1, 0);
      answer.timings = timings(1);
      expect(complete(answer)).to.deep.include({ completion_tokens: 3, prompt_tokens: 29 });
    });
  });

  describe('of a stream', () => {
    const pass = (text: string, options: { isUsageWanted?: boolean; n?: number }) => {
      const filter = new SseFilter({ modelId: 'm', isUsageWanted: true, ...options });
      const output = (filter.push(Buffer.from(text)) ?? '') + (filter.end() ?? '');
      const frames = output.split('\n\n').filter((each) => each.startsWith('data: {'));
      return { filter, output, usages: frames.flatMap((each) => JSON.parse(each.slice(6)).usage ?? []) };
    };
    const CHOICES =
      [0, 2, 1].map((index) => piece(index, 'a')).join('') +
      told(usage(29, 3, 28)) +
      piece(2, 'b') +
      told(usage(29, 3, 28)) +
      told(usage(29, 3, 28)) +
      DONE;
    const PROMPTS =
      frame(null) +
      frame({ choices: [{ text: 'a', index: 0, logprobs: null, finish_reason: null }], model: 'm' }) +
      end(0, usage(13, 3, 12)) +
      end(1, usage(30, 3, 29)) +
      DONE;

    it('is added up, with the prompt once, so that the last one is all', () => {
      const { filter, usages } = pass(CHOICES, { n: 3 });
      expect(usages.at(-1)).to.deep.include({ prompt_tokens: 29, completion_tokens: 9, total_tokens: 38 });
      expect(usages.map(({ completion_tokens }) => completion_tokens)).to.deep.equal([3, 6, 9]);
      expect(filter.usage).to.deep.include({ inputTokens: 29, outputTokens: 9, cachedInputTokens: 28 });
    });

    it('is added up where the client did not ask for it', () => {
      const { filter, usages } = pass(CHOICES, { n: 3, isUsageWanted: false });
      expect(usages).to.deep.equal([]);
      expect(filter.usage).to.deep.include({ inputTokens: 29, outputTokens: 9 });
    });

    it('is added up over prompts, whose stream loses the frame that is null', () => {
      const { filter, usages, output } = pass(PROMPTS, {});
      expect(output).not.to.include('null\n\n');
      expect(usages.at(-1)).to.deep.include({ prompt_tokens: 43, completion_tokens: 6, total_tokens: 49 });
      expect(filter.usage).to.deep.include({ inputTokens: 43, outputTokens: 6, cachedInputTokens: 41 });
    });

    it('counts each prompt once where it has several choices', () => {
      const ends = [0, 1, 2, 3].map((index) => end(index, usage(index < 2 ? 13 : 9, 3, 0))).join('');
      const { filter } = pass(ends + DONE, { n: 2 });
      expect(filter.usage).to.deep.include({ inputTokens: 22, outputTokens: 12 });
    });

    it('is at least what passed, where the stream breaks before all is told', () => {
      const { filter } = pass(told(usage(29, 3, 0)) + piece(1, 'a').repeat(4), { n: 2 });
      expect(filter.usage).to.deep.include({ inputTokens: 29, outputTokens: 4, totalTokens: 33 });
    });

    it('stays as it is for one choice', () => {
      const text = piece(0, 'a') + told(usage(29, 3, 28)) + DONE;
      expect(pass(text, {}).output).to.equal(text);
    });
  });
});
