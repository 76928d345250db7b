import { expect } from 'chai';
import { chatOf, type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

const PATH = '/v1/chat/completions';
const CLOCK = { type: 'function', function: { name: 'clock' } };

describe('the simulated chat, asked for what it cannot do,', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator.stop());

  describe('with a context of 100 tokens', () => {
    before(() => simulator.putControl({ contextTokens: 100 }));
    after(() => simulator.reset());
    const text = 'x'.repeat(4 * 50);
    const refusal = async (path: string, body: object) => {
      const response = await simulator.post(path, body);
      const { error } = (await response.json()) as { error?: { message: string; param: string } };
      return [response.status, error?.message, error?.param];
    };
    const tooLarge = (prompt: number, output: number) =>
      `'max_tokens' or 'max_completion_tokens' is too large: ${output}. This model's maximum context length is 100 tokens and your request has ${prompt} input tokens (${output} > 100 - ${prompt}).`;

    it('takes a prompt and an output that fill it together, and refuses a token more', async () => {
      expect((await simulator.post(PATH, chatOf(text, { max_tokens: 46 }))).status).to.equal(200);
      expect(await refusal(PATH, chatOf(text, { max_tokens: 47 }))).to.deep.equal([
        400,
        tooLarge(54, 47),
        'max_tokens',
      ]);
      const completion = { prompt: text, max_tokens: 51 };
      expect((await refusal('/v1/completions', completion))[1]).to.equal(tooLarge(50, 51));
      const response = { input: text, max_output_tokens: 47 };
      expect((await refusal('/v1/responses', response))[1]).to.equal(tooLarge(54, 47));
    });

    it('refuses a prompt that leaves no room, whatever is asked for', async () => {
      const [status, message] = await refusal(PATH, chatOf('x'.repeat(4 * 96)));
      expect([status, message]).to.deep.equal([
        400,
        "This model's maximum context length is 100 tokens. However, your request has 100 input tokens. Please reduce the length of the input messages.",
      ]);
      const count = { messages: [{ role: 'user', content: 'x' }] };
      expect((await simulator.post('/v1/messages/count_tokens', count)).status).to.equal(200);
    });

    it('says so with its model', async () => {
      const list = (await (await fetch(`${simulator.url}/v1/models`)).json()) as {
        data: { max_model_len: number }[];
      };
      expect(list.data[0]!.max_model_len).to.equal(100);
    });
  });

  describe('refuses as vLLM does', () => {
    const cases: [why: string, body: unknown, status: number, message: RegExp, param?: string][] = [
      ['a body that is no JSON', '{"messages": [', 400, /JSON decode error/],
      ['a body that is no object', '[]', 400, /valid dictionary/],
      ['no messages', {}, 400, /'messages'.*Field required/],
      ['messages of the wrong type', { messages: 'hello' }, 400, /'messages'.*valid list/],
      ['an empty conversation', { messages: [] }, 400, /at least one message/],
      ['a message without role', { messages: [{ content: 'x' }] }, 400, /'role'.*Field required/],
      [
        'an unknown part',
        { messages: [{ role: 'user', content: [{ type: 'smell' }] }] },
        400,
        /Unknown part type: smell/,
      ],
      ['another model', chatOf('x', { model: 'gpt' }), 404, /The model `gpt` does not exist/],
      ['a model that is no string', chatOf('x', { model: 7 }), 400, /'model'.*valid string/],
      ['max_tokens of zero', chatOf('x', { max_tokens: 0 }), 400, /max_tokens must be at least 1/],
      ['a fractional n', chatOf('x', { n: 1.5 }), 400, /'n'.*valid integer/],
      ['a temperature out of range', chatOf('x', { temperature: 3 }), 400, /temperature must be in/],
      ['top_logprobs alone', chatOf('x', { top_logprobs: 2 }), 400, /`logprobs` must be set/],
      ['stream_options without stream', chatOf('x', { stream_options: {} }), 400, /stream=True/],
      ['tool_choice without tools', chatOf('x', { tool_choice: 'required' }), 400, /`tools` must be set/],
      [
        'a tool_choice that names no tool',
        chatOf('x', { tools: [CLOCK], tool_choice: { type: 'function', function: { name: 'y' } } }),
        400,
        /does not match any/,
      ],
      [
        'a tool that is no function',
        chatOf('x', { tools: [CLOCK, { type: 'custom', custom: { name: 'shell' } }] }),
        400,
        /'tools', 1, 'type'.*Input should be 'function'/,
        'tools[1].type',
      ],
      [
        'a schema without end',
        chatOf('x', { response_format: { type: 'json_schema', json_schema: { schema: { $ref: '#' } } } }),
        400,
        /without end/,
      ],
    ];
    for (const [why, body, status, message, param] of cases)
      it(`${why}: ${status}`, async () => {
        const response = await simulator.post(PATH, body);
        expect(response.status).to.equal(status);
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        expect(error).to.have.all.keys('message', 'type', 'param', 'code');
        expect(error.message).to.match(message);
        expect(error.code).to.equal(status);
        if (param) expect(error.param).to.equal(param);
      });
  });
});
