import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { INPUT_TOKENS } from '../../../../gateway/text/input-tokens-route.ts';
import { readTextRequest } from '../../../../gateway/text/text-request.ts';
import { bodyOf } from '../../../support/body-of.ts';

const read = (value: object, enginePreset = 'vllm') =>
  readTextRequest(bodyOf(JSON.stringify(value)), INPUT_TOKENS, {
    modelId: 'org/m',
    servedModelName: 'org/m',
    enginePreset,
  });
const payloadOf = (value: object, preset?: string) => JSON.parse(read(value, preset).payload.toString());
const textOf = (text: string) => ({ type: 'text', text });

function refusedParam(value: object): string | null | undefined {
  try {
    read(value);
  } catch (error) {
    expect(error).to.be.instanceOf(ApiError);
    return (error as ApiError).details.param;
  }
  return undefined;
}

describe('a count of the input of a response', () => {
  it('is asked of llama.cpp as it is', () => {
    const request = read({ input: 'Hi', instructions: 'Be brief.' }, 'llama-cpp');
    expect(request.path).to.equal('/v1/responses/input_tokens');
    expect(JSON.parse(request.payload.toString())).to.deep.equal({
      model: 'org/m',
      input: 'Hi',
      instructions: 'Be brief.',
    });
  });

  for (const preset of ['vllm', 'sglang', 'simulator'])
    it(`is asked of ${preset} as that of a message`, () => {
      const request = read({ input: 'Hi', instructions: 'Be brief.' }, preset);
      expect(request.path).to.equal('/v1/messages/count_tokens');
      expect(JSON.parse(request.payload.toString())).to.deep.equal({
        model: 'org/m',
        system: [textOf('Be brief.')],
        messages: [{ role: 'user', content: [textOf('Hi')] }],
      });
      expect(request.read!({ input_tokens: 7, context_management: null })).to.deep.equal({
        object: 'response.input_tokens',
        input_tokens: 7,
      });
      expect(request.read!({ tokens: 7 })).to.equal(null);
    });

  it('has calls of tools with the turn that made them, and their results', () => {
    const { messages, system } = payloadOf({
      input: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'note', input: 'x' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
      ],
    });
    expect(system).to.deep.equal([textOf('Be brief.')]);
    expect(messages).to.deep.equal([
      { role: 'user', content: [textOf('Weather?')] },
      {
        role: 'assistant',
        content: [
          textOf('Let me see.'),
          { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Oslo' } },
          { type: 'tool_use', id: 'c2', name: 'note', input: { input: 'x' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [textOf('sunny')] }] },
    ]);
  });

  it('has arguments that are no JSON as a text', () => {
    const input = [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"city' }];
    expect(payloadOf({ input }).messages[0].content[0].input).to.deep.equal({ text: '{"city' });
  });

  it('has arguments that are long or deep as a text, so that no values exhaust the memory', () => {
    const inputOf = (...texts: string[]) =>
      payloadOf({
        input: texts.map((text) => ({ type: 'function_call', call_id: 'c', name: 'f', arguments: text })),
      }).messages[0].content.map((call: { input: object }) => call.input);
    const long = `[${'{},'.repeat(6_000)}1]`;
    const deep = '['.repeat(7_000) + ']'.repeat(7_000);
    const half = JSON.stringify({ a: 'x'.repeat(9_000) });
    expect(inputOf(long)).to.deep.equal([{ text: long }]);
    expect(inputOf(deep)).to.deep.equal([{ text: deep }]);
    expect(inputOf(half, half, '{}')).to.deep.equal([JSON.parse(half), { text: half }, {}]);
  });

  it('is refused for types that are no strings', () => {
    for (const type of [{ toString: 1, valueOf: 1 }, 1, ['message'], false])
      for (const more of [{}, { file_id: 'file_1' }, { action: {} }])
        expect(refusedParam({ input: [{ type, ...more }] })).to.equal('input[0].type');
    expect(refusedParam({ input: [{ type: null, role: 'user', content: 'Hi' }] })).to.equal(undefined);
  });

  it('has the tools that the client runs', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const f = { type: 'function', name: 'f', description: 'F', parameters };
    const request = read({
      input: 'Hi',
      tools: [f, { type: 'web_search' }, { type: 'namespace', name: 'n', tools: [f] }, { type: 'shell' }],
      tool_choice: 'none',
    });
    const counted = { name: 'f', description: 'F', input_schema: parameters };
    const { tools, tool_choice: choice } = JSON.parse(request.payload.toString());
    expect(tools).to.deep.equal([counted, counted, { name: 'shell', input_schema: { type: 'object' } }]);
    expect(choice).to.deep.equal({ type: 'none' });
    expect(request.omittedTools).to.deep.equal(['web_search']);
  });

  it('has images, whose URLs are fetched into the message', () => {
    const images = ['data:image/png;base64,AAAA', 'https://a.example/b.png'];
    const request = read({
      input: [{ role: 'user', content: images.map((url) => ({ type: 'input_image', image_url: url })) }],
    });
    const [first, second] = JSON.parse(request.payload.toString()).messages[0].content;
    expect(first.source).to.deep.equal({ type: 'base64', media_type: 'image/png', data: 'AAAA' });
    expect(second.source).to.deep.equal({ type: 'url', url: images[1] });
    expect(request.media).to.deep.equal([
      { kind: 'image', path: ['messages', 0, 'content', 1, 'source'], url: images[1], form: 'source' },
    ]);
  });

  it('has data URLs in any form that a response may have', () => {
    for (const url of ['data:image/png;charset=utf-8;base64,AAAA', 'DATA:image/png;BASE64,AAAA']) {
      const content = [{ type: 'input_image', image_url: url }];
      const request = read({ input: [{ role: 'user', content }] });
      expect(request.media).to.deep.equal([]);
      expect(JSON.parse(request.payload.toString()).messages[0].content[0].source).to.deep.equal({
        type: 'base64',
        media_type: 'image/png',
        data: 'AAAA',
      });
    }
  });

  it('has tools that a search found', () => {
    const tools = [{ type: 'function', name: 'f' }];
    const { messages } = payloadOf({ input: [{ type: 'tool_search_output', call_id: 'c1', tools }] });
    expect(messages[0].content).to.deep.equal([
      { type: 'tool_result', tool_use_id: 'c1', content: [textOf(JSON.stringify(tools))] },
    ]);
  });

  it('is refused for what a message cannot have, and for what needs a store', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    expect(refusedParam({ input: [{ role: 'user', content: [audio] }] })).to.equal(
      'input[0].content[0].type',
    );
    expect(refusedParam({ input: [{ type: 'compaction' }] })).to.equal('input[0].type');
    expect(refusedParam({ input: 'Hi', previous_response_id: 'resp_1' })).to.equal('previous_response_id');
    expect(refusedParam({})).to.equal('input');
  });
});
