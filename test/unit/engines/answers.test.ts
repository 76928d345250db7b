import { expect } from 'chai';
import { assemble, narrow, readFrames, strip } from '../../engines/answers.ts';

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });

describe('the frames of a stream', () => {
  it('are read line by line, comments left out', () => {
    expect(readFrames(': ping\n\ndata: {"a":1}\n\ndata: [DONE]\n\n')).to.deep.equal(['{"a":1}', '[DONE]']);
  });

  it('are the same answer however many tokens each of them has', () => {
    const one = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hello' }, { finish_reason: 'stop' }),
    ];
    const many = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }, { finish_reason: null }),
      chunk({ content: 'lo' }, { finish_reason: 'stop' }),
    ];
    expect(assemble(many)).to.deep.equal(assemble(one));
    expect(assemble(many).choices).to.deep.equal([
      { index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' },
    ]);
  });

  it('put the arguments of tool calls, log probabilities and choices together', () => {
    const call = (index: number, text: string) => ({
      tool_calls: [{ index, function: { arguments: text } }],
    });
    const answer = assemble([
      { choices: [{ index: 1, delta: { content: 'b' } }] },
      chunk(call(0, '{"a":'), { logprobs: { content: [{ token: 'x' }] } }),
      chunk(call(0, '1}'), { logprobs: { content: [{ token: 'y' }] } }),
    ]);
    expect(answer.choices).to.deep.equal([
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
        logprobs: { content: [{ token: 'x' }, { token: 'y' }] },
      },
      { index: 1, delta: { content: 'b' } },
    ]);
  });

  it('are compared without the names of the call', () => {
    expect(strip({ id: 'a', choices: [{ id: 'b', text: 'c' }], created: 1 })).to.deep.equal({
      choices: [{ text: 'c' }],
    });
  });

  it('have the same input wherever the engine found it', () => {
    const usage = { input_tokens: 1, cache_read_input_tokens: 70, cache_creation_input_tokens: 7 };
    expect(strip(usage)).to.deep.equal({ input_tokens: 78 });
  });

  it('of the endpoint may have more than the engine’s, but nothing else in its place', () => {
    const engine = { status: 'completed', output: [{ type: 'message', content: [{ text: 'hi' }] }] };
    const answer = {
      status: 'completed',
      store: false,
      output: [{ type: 'message', content: [{ text: 'hi', logprobs: [] }] }],
    };
    expect(narrow(answer, engine)).to.deep.equal(engine);
    expect(narrow({ ...answer, status: 'incomplete' }, engine)).to.not.deep.equal(engine);
    expect(narrow({ ...answer, output: [...answer.output, {}] }, engine)).to.not.deep.equal(engine);
    expect(narrow({ output: answer.output }, engine)).to.not.deep.equal(engine);
  });
});
