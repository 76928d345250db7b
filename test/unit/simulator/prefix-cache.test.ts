import { expect } from 'chai';
import { BLOCK_TOKENS, PrefixCache } from '../../../simulator/prefix-cache.ts';
import { RunningSimulator } from './running-simulator.ts';

const text = (tokens: number, letter = 'a') => letter.repeat(4 * tokens);

describe('the prefix cache of an engine', () => {
  it('has whole blocks of what it saw before, and never the last token', () => {
    const cache = new PrefixCache(() => 10_000);
    expect(cache.enter(text(100), 100)).to.equal(0);
    expect(cache.enter(text(100), 100)).to.equal(6 * BLOCK_TOKENS);
    expect(cache.enter(text(96), 96)).to.equal(5 * BLOCK_TOKENS);
    expect(cache.enter(text(50) + text(50, 'b'), 100)).to.equal(3 * BLOCK_TOKENS);
    expect(cache.totals).to.deep.equal({ asked: 396, found: 14 * BLOCK_TOKENS });
  });

  it('loses first what was not used for longest, the end of a prompt before its beginning', () => {
    const cache = new PrefixCache(() => 10 * BLOCK_TOKENS);
    const tokens = 8 * BLOCK_TOKENS;
    cache.enter(text(tokens), tokens + 1);
    cache.enter(text(4 * BLOCK_TOKENS, 'b'), 4 * BLOCK_TOKENS + 1);
    expect(cache.enter(text(tokens), tokens + 1)).to.equal(6 * BLOCK_TOKENS);
    expect(cache.enter(text(4 * BLOCK_TOKENS, 'b'), 4 * BLOCK_TOKENS + 1)).to.equal(2 * BLOCK_TOKENS);
  });
});

describe('a simulator with a prefix cache', () => {
  let simulator: RunningSimulator;
  afterEach(() => simulator?.stop());
  const messages = [
    { role: 'system', content: text(200) },
    { role: 'user', content: 'Hello' },
  ];
  interface ChatAnswer {
    choices: { message: { role: string; content: string } }[];
    usage: Record<string, unknown> & { prompt_tokens_details?: { cached_tokens: number } };
  }
  const ask = async (path: string, body: object) =>
    (await (await simulator.post(path, body)).json()) as ChatAnswer;

  it('tells how much of a prompt was there, the last answer included, in the words of each route', async () => {
    simulator = await RunningSimulator.start({ settings: { cacheTokens: 10_000 } });
    const first = await ask('/v1/chat/completions', { messages });
    expect(first.usage.prompt_tokens_details).to.deep.equal({ cached_tokens: 0 });
    const next = [...messages, first.choices[0]!.message, { role: 'user', content: text(60, 'b') }];
    const { usage } = await ask('/v1/chat/completions', { messages: next });
    const answered = first.usage.completion_tokens as number;
    expect(usage.prompt_tokens_details!.cached_tokens).to.be.above(200 + answered / 2);

    const system = messages[0]!.content;
    const message = await ask('/v1/messages', { system, messages: messages.slice(1), max_tokens: 9 });
    expect(message.usage.cache_read_input_tokens).to.be.least(192);
    expect(message.usage.input_tokens).to.be.below(30);
    const response = await ask('/v1/responses', { instructions: system, input: 'Hello' });
    expect(response.usage.input_tokens_details).to.have.property('cached_tokens').least(192);
    await ask('/v1/completions', { prompt: text(200, 'c') });
    const completion = await ask('/v1/completions', { prompt: text(200, 'c') });
    expect(completion.usage.prompt_tokens_details).to.deep.equal({ cached_tokens: 192 });
    const metrics = await (await fetch(`${simulator.url}/metrics`)).text();
    expect(metrics).to.match(/^vllm:prefix_cache_hits_total\{[^}]+\} [1-9]/m);
  });

  it('computes the tokens that are not there, one prompt after the other', async () => {
    simulator = await RunningSimulator.start({ settings: { cacheTokens: 10_000, prefillMs: 1, tokens: 1 } });
    const time = async (calls: number) => {
      const start = performance.now();
      await Promise.all(
        Array.from({ length: calls }, (_, index) =>
          ask('/v1/completions', { prompt: text(200, 'xyz'[index]) }),
        ),
      );
      return performance.now() - start;
    };
    expect(await time(3)).to.be.least(600);
  });

  it('has none and tells none unless it is asked to', async () => {
    simulator = await RunningSimulator.start();
    await ask('/v1/chat/completions', { messages });
    expect((await ask('/v1/chat/completions', { messages })).usage).not.to.have.property(
      'prompt_tokens_details',
    );
  });
});
