import { expect } from 'chai';
import {
  type GeneratedSoFar,
  isUsedUp,
  readContinuable,
  writeContinuation,
} from '../../../../gateway/text/continuation.ts';

const messages = [{ role: 'user', content: 'hi' }];
const CHAT = { messages, stream: true };
const read = (more: object, preset = 'sglang') => readContinuable({ ...CHAT, ...more }, preset);

describe('a chat can be continued', () => {
  const plain: [string, object][] = [
    ['with nothing but messages', {}],
    ['with sampling, bounds and stops', { temperature: 0.5, top_k: 3, seed: 1, max_tokens: 9, stop: ['a'] }],
    ['with one choice', { n: 1 }],
    ['with usage asked for', { stream_options: { include_usage: true } }],
    ['with members that are null', { tools: null, response_format: null, logprobs: null }],
    [
      'with members that ask for nothing',
      { tools: [], tool_choice: 'none', logprobs: false, modalities: ['text'] },
    ],
    ['in plain text', { response_format: { type: 'text' } }],
    ['about an image', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }],
  ];
  for (const [name, more] of plain) it(name, () => expect(read(more)).not.to.equal(null));
});

describe('a chat is not continued', () => {
  const others: [string, object][] = [
    ['that is not streamed', { stream: false }],
    ['with several choices', { n: 2 }],
    ['with tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['with functions', { functions: [{ name: 'f' }] }],
    ['with a choice of tools', { tool_choice: 'auto' }],
    ['with a schema', { response_format: { type: 'json_schema', json_schema: {} } }],
    ['as JSON', { response_format: { type: 'json_object' } }],
    ['with a grammar of the engine', { guided_regex: 'a+' }],
    ['with structured outputs of the engine', { structured_outputs: { choice: ['a'] } }],
    ['with log probabilities', { logprobs: true }],
    ['with sound', { modalities: ['text', 'audio'], audio: { voice: 'v' } }],
    [
      'whose client continues a message itself',
      { messages: [...messages, { role: 'assistant', content: 'a' }] },
    ],
    ['whose client asks to continue', { continue_final_message: true }],
    ['with a least length', { min_tokens: 5 }],
    ['with usage in every frame', { stream_options: { include_usage: true, continuous_usage_stats: true } }],
    ['with members that nobody knows', { beam_width: 3 }],
    ['with a member like a prototype', JSON.parse('{"__proto__": 1}')],
    ['with a member like a constructor', { constructor: 1 }],
    ['with endless stop strings', { stop: ['x'.repeat(1_025)] }],
    ['with too many stop strings', { stop: Array(65).fill('x') }],
  ];
  for (const [name, more] of others) it(name, () => expect(read(more)).to.equal(null));
});

describe('the request for what is missing', () => {
  const SAID: GeneratedSoFar = { content: 'One "two"', reasoning: '', tokens: 4 };
  const write = (body: object, said: Partial<GeneratedSoFar> = {}): Record<string, unknown> => {
    const continuable = read(body)!;
    const payload = Buffer.from(JSON.stringify({ ...CHAT, ...body }));
    return JSON.parse(writeContinuation(payload, continuable, { ...SAID, ...said }).toString());
  };

  it('has what was said as its last message, which is to be continued', () => {
    expect(write({ seed: 7 })).to.deep.equal({
      messages: [...messages, { role: 'assistant', content: 'One "two"' }],
      stream: true,
      seed: 7,
      continue_final_message: true,
      add_generation_prompt: false,
    });
  });

  it('tells the thoughts that led to it', () => {
    const { messages: sent } = write({}, { reasoning: 'Hm.' }) as { messages: object[] };
    expect(sent.at(-1)).to.deep.include({ content: 'One "two"', reasoning: 'Hm.', reasoning_content: 'Hm.' });
  });

  it('asks for as many tokens as are left', () => {
    expect(write({ max_tokens: 10 }).max_tokens).to.equal(6);
    expect(write({ max_tokens: 10, max_completion_tokens: 8 })).to.include({
      max_tokens: 6,
      max_completion_tokens: 4,
    });
    expect(write({ max_tokens: 3 }).max_tokens).to.equal(1);
  });

  it('is not needed once all tokens are there by the bound that the engine holds to, or safely by an estimate', () => {
    const both = { max_tokens: 10, max_completion_tokens: 4 };
    expect(isUsedUp(read(both, 'vllm')!, 4, false)).to.equal(true);
    expect(isUsedUp(read(both, 'sglang')!, 4, false)).to.equal(false);
    expect(isUsedUp(read(both, 'sglang')!, 10, false)).to.equal(true);
    expect(isUsedUp(read({ max_tokens: 4 })!, 4, true)).to.equal(false);
    expect(isUsedUp(read({ max_tokens: 4 })!, 5, true)).to.equal(true);
    expect(isUsedUp(read({})!, 1e9, false)).to.equal(false);
  });

  it('is the same again where nothing was said', () => {
    expect(write({ max_tokens: 10 }, { content: '', tokens: 0 })).to.deep.equal({ ...CHAT, max_tokens: 10 });
  });

  it('leaves large numbers and the order of members as they are', () => {
    const text =
      '{ "seed":12345678901234567890, "messages":[ {"role":"user","content":"ü ]"} ] ,"stream":true}';
    const sent = writeContinuation(
      Buffer.from(text),
      readContinuable(JSON.parse(text), 'vllm')!,
      SAID,
    ).toString();
    expect(sent).to.include('"seed":12345678901234567890');
    expect(JSON.parse(sent).messages).to.deep.equal([
      { role: 'user', content: 'ü ]' },
      { role: 'assistant', content: 'One "two"' },
    ]);
  });
});
