import { expect } from 'chai';
import { MODEL, RunningSimulator } from './running-simulator.ts';

interface Event {
  name: string;
  data: Record<string, unknown> & { type: string };
}

const readEvents = async (response: Response): Promise<Event[]> =>
  (await response.text())
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const [event, data] = frame.split('\n');
      return { name: event!.slice('event: '.length), data: JSON.parse(data!.slice('data: '.length)) };
    });

/** The common part of both formats. */
interface Said {
  type: string;
  stop_reason: string;
  usage: Record<string, number>;
  output: { type: string; name: string; call_id: string; input?: string; content: { text: string }[] }[];
  content: { id: string; text: string; input: object }[];
}

const WEATHER = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

describe('the simulator', () => {
  let simulator: RunningSimulator;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator?.stop());
  const post = async (path: string, body: object) => {
    const response = await simulator.post(path, body);
    return { status: response.status, body: (await response.json()) as Said };
  };

  describe('POST /v1/responses', () => {
    const input = 'Tell me about the weather.';

    it('answers a text, with usage', async () => {
      const { status, body } = await post('/v1/responses', { input, max_output_tokens: 5 });
      expect(status).to.equal(200);
      expect(body).to.deep.include({
        object: 'response',
        model: MODEL,
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      });
      expect(body.usage).to.include({ output_tokens: 5 });
    });

    it('says the same whole and streamed, in numbered events', async () => {
      const { body } = await post('/v1/responses', { input });
      const events = await readEvents(await simulator.post('/v1/responses', { input, stream: true }));
      expect(events.map(({ data }) => data.sequence_number)).to.deep.equal(events.map((_, index) => index));
      expect(events.every(({ name, data }) => name === data.type)).to.equal(true);
      const text = events
        .filter(({ name }) => name === 'response.output_text.delta')
        .map(({ data }) => data.delta)
        .join('');
      expect(text).to.equal(body.output[0]!.content[0]!.text);
      expect(events.at(-1)!.name).to.equal('response.completed');
    });

    it('calls a tool that the input mentions, and answers its result in words', async () => {
      const tools = [{ type: 'function', ...WEATHER }];
      const { body } = await post('/v1/responses', { input, tools });
      const [call] = body.output;
      expect(call).to.include({ type: 'function_call', name: 'get_weather' });
      const answered = [
        { role: 'user', content: input },
        call,
        { type: 'function_call_output', call_id: call!.call_id, output: 'sunny' },
      ];
      const second = await post('/v1/responses', { input: answered, tools });
      expect(second.body.output[0]!.type).to.equal('message');
    });

    describe('with a custom tool', () => {
      const tools = [{ type: 'local_shell' }, { type: 'custom', name: 'weather_shell' }];

      it('calls it with free text, and answers its result in words', async () => {
        const { status, body } = await post('/v1/responses', { input, tools, tool_choice: 'required' });
        expect(status, JSON.stringify(body)).to.equal(200);
        const [call] = body.output;
        expect(call).to.include({ type: 'custom_tool_call', name: 'weather_shell' });
        expect(call).to.have.property('input').a('string');
        const result = { type: 'custom_tool_call_output', call_id: call!.call_id, output: 'sunny' };
        const second = await post('/v1/responses', {
          input: [{ role: 'user', content: input }, call, result],
          tools,
        });
        expect(second.body.output[0]!.type).to.equal('message');
      });

      it('streams its input', async () => {
        const request = { input, tools, tool_choice: { type: 'custom', name: 'weather_shell' } };
        const { body } = await post('/v1/responses', request);
        const events = await readEvents(await simulator.post('/v1/responses', { ...request, stream: true }));
        const deltas = events.filter(({ name }) => name === 'response.custom_tool_call_input.delta');
        const [call] = body.output;
        expect(deltas.map(({ data }) => data.delta).join('')).to.equal(call!.input);
        const done = events.find(({ name }) => name === 'response.custom_tool_call_input.done');
        expect(done!.data).to.deep.include({ input: call!.input, output_index: 0 });
      });

      it('refuses a grammar', async () => {
        const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
        const { status, body } = await post('/v1/responses', {
          input,
          tools: [{ type: 'custom', name: 'shell', format }],
        });
        expect([status, (body as unknown as { error: { param: string } }).error.param]).to.deep.equal([
          400,
          'tools',
        ]);
      });
    });

    it('calls a function of a namespace', async () => {
      const tools = [{ type: 'namespace', name: 'sky', tools: [{ type: 'function', ...WEATHER }] }];
      const { body } = await post('/v1/responses', { input, tools, tool_choice: 'required' });
      expect(body.output[0]).to.include({ type: 'function_call', namespace: 'sky', name: 'get_weather' });
    });

    it('names what is missing where no tool can be called', async () => {
      const { status, body } = await post('/v1/responses', {
        input,
        tools: [{ type: 'local_shell' }],
        tool_choice: 'required',
      });
      expect(`${status} ${JSON.stringify(body)}`).to.match(/^400 .*a tool that the model can call/);
    });

    it('answers by a JSON schema', async () => {
      const schema = { type: 'object', properties: { masts: { type: 'integer' } }, required: ['masts'] };
      const { body } = await post('/v1/responses', {
        input,
        text: { format: { type: 'json_schema', name: 'ship', schema } },
      });
      expect(JSON.parse(body.output[0]!.content[0]!.text).masts).to.be.a('number');
    });

    it('counts as a call of inference, and shows its prompt', async () => {
      await post('/v1/responses', { input: 'Remember me' });
      const { recent } = await simulator.readControl();
      expect(recent.at(-1)).to.include({ path: '/v1/responses', prompt: 'Remember me' });
    });
  });

  describe('POST /v1/messages', () => {
    const messages = [{ role: 'user', content: 'Tell me about the weather.' }];
    const request = { messages, max_tokens: 100 };

    it('answers a text, with a reason to stop and usage', async () => {
      const { status, body } = await post('/v1/messages', { ...request, max_tokens: 5 });
      expect(status).to.equal(200);
      expect(body).to.include({
        type: 'message',
        role: 'assistant',
        model: MODEL,
        stop_reason: 'max_tokens',
      });
      expect(body.usage).to.include({ output_tokens: 5 });
    });

    it('says the same whole and streamed, and ends without [DONE]', async () => {
      const { body } = await post('/v1/messages', request);
      const events = await readEvents(await simulator.post('/v1/messages', { ...request, stream: true }));
      expect(events[0]!.name).to.equal('message_start');
      expect(events.at(-1)!.name).to.equal('message_stop');
      const text = events
        .filter(({ name }) => name === 'content_block_delta')
        .map(({ data }) => (data.delta as { text: string }).text)
        .join('');
      expect(text).to.equal(body.content[0]!.text);
    });

    it('uses a tool where it must, and answers its result in words', async () => {
      const tools = [{ name: 'get_weather', input_schema: WEATHER.parameters }];
      const { body } = await post('/v1/messages', { ...request, tools, tool_choice: { type: 'any' } });
      expect(body.stop_reason).to.equal('tool_use');
      const [use] = body.content;
      expect(use!.input).to.have.property('city');
      const second = await post('/v1/messages', {
        ...request,
        tools,
        messages: [
          ...messages,
          { role: 'assistant', content: [use] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: use!.id, content: 'sunny' }] },
        ],
      });
      expect(second.body.stop_reason).to.equal('end_turn');
    });

    it('counts the tokens that it then takes', async () => {
      const body = { system: 'You are brief.', messages };
      const counted = await post('/v1/messages/count_tokens', body);
      const answered = await post('/v1/messages', { ...body, max_tokens: 3 });
      expect(counted.body).to.deep.equal({
        input_tokens: answered.body.usage.input_tokens,
      });
    });

    it('tells errors as Anthropic does, in mid-stream, too', async () => {
      const { status, body } = await post('/v1/messages', { messages });
      expect(status).to.equal(400);
      expect(body).to.deep.include({ type: 'error' });
      await simulator.putControl({ fault: { kind: 'error-frame', afterFrames: 3 } });
      const events = await readEvents(await simulator.post('/v1/messages', { ...request, stream: true }));
      expect(events.at(-1)!.data.type).to.equal('error');
    });
  });
});
