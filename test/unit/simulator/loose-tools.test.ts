/** Forced calls that break their schema, as those of vLLM from 0.31 on without `--tool-strict-level=parameter`. */
import { expect } from 'chai';
import { readEvents } from '../../support/event-stream.ts';
import { chatOf, RunningSimulator, readStream } from './running-simulator.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const NAME = 'get_weather';
const NAMED = { type: 'function', function: { name: NAME } };
const toolOf = (more: object = {}) => ({
  type: 'function',
  function: { name: NAME, parameters: SCHEMA, ...more },
});

describe('a simulator whose forced tools are loose', () => {
  let simulator: RunningSimulator;
  before(async () => {
    simulator = await RunningSimulator.start({ settings: { looseTools: true } });
  });
  after(() => simulator.stop());
  const post = (path: string, body: object) => simulator.post(path, body);
  const readArguments = async (more: object) => {
    const response = await post('/v1/chat/completions', chatOf('weather', more));
    const { choices } = (await response.json()) as Chat;
    return JSON.parse(choices[0]!.message.tool_calls[0]!.function.arguments);
  };

  for (const choice of ['required', NAMED])
    it(`breaks the schema with tool_choice ${JSON.stringify(choice)}`, async () => {
      expect(await readArguments({ tools: [toolOf()], tool_choice: choice })).to.equal(false);
    });

  it('holds the schema of a strict tool, and of one that it chose itself', async () => {
    const strict = { tools: [toolOf({ strict: true })], tool_choice: 'required' };
    expect(await readArguments(strict)).to.have.property('city');
    expect(await readArguments({ tools: [toolOf()] })).to.have.property('city');
  });

  it('streams the broken arguments', async () => {
    const body = chatOf('x', { tools: [toolOf()], tool_choice: 'required', stream: true });
    const { events } = await readStream(await post('/v1/chat/completions', body));
    const pieces = (events as unknown as Chunk[]).flatMap(
      ({ choices }) => choices[0]!.delta.tool_calls ?? [],
    );
    expect(pieces.map((piece) => piece.function.arguments).join('')).to.equal('false');
  });

  it('breaks the schema in responses, but not the one field of a custom tool', async () => {
    const call = async (tool: object) => {
      const body = { input: 'x', tools: [tool], tool_choice: 'required' };
      return ((await (await post('/v1/responses', body)).json()) as { output: object[] }).output[0];
    };
    const flat = { type: 'function', name: NAME, parameters: SCHEMA };
    expect(await call(flat)).to.include({ type: 'function_call', arguments: 'false' });
    expect(await call({ type: 'custom', name: NAME }))
      .to.have.property('input')
      .that.is.a('string');
  });

  describe('asked for a message', () => {
    const request = {
      messages: [{ role: 'user', content: 'x' }],
      max_tokens: 20,
      tools: [{ name: NAME, input_schema: SCHEMA }],
      tool_choice: { type: 'any' },
    };

    it('refuses what it generated itself with 400, as vLLM does', async () => {
      const response = await post('/v1/messages', request);
      expect(response.status).to.equal(400);
      expect(await response.json())
        .to.have.nested.property('error.message')
        .that.matches(/validation error for AnthropicContentBlock/);
    });

    it('streams it', async () => {
      const events = await readEvents(await post('/v1/messages', { ...request, stream: true }));
      const pieces = events.flatMap(
        ({ data }) => (data.delta as { partial_json?: string })?.partial_json ?? [],
      );
      expect(pieces.join('')).to.equal('false');
    });
  });
});

interface Called {
  tool_calls: { function: { arguments: string } }[];
}

interface Chat {
  choices: { message: Called }[];
}

interface Chunk {
  choices: { delta: Partial<Called> }[];
}
