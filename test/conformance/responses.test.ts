/** OpenAI's Responses through both major versions of its SDK, and the cases of Open Responses' compliance test. */
import { expect } from 'chai';
import OpenAI7 from 'openai';
import OpenAI6 from 'openai-6';
import { itForced, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { type NamedEvent, readEvents } from '../support/named-events.ts';
import { findEventFaults, findResponseFaults } from '../support/open-responses.ts';
import { pollUntil } from '../support/poll.ts';
import { type CheckedFetch, createCheckedFetch } from './checked-fetch.ts';
import { shareStack } from './shared-stack.ts';

type Tool = OpenAI7.Responses.FunctionTool;

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  // Otherwise an engine that is forced to call a tool may pass any arguments.
  strict: true,
};
const input = 'Tell me about ships.';

const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];

describe('responses', () => {
  let stack: LocalStack;
  let model: string;
  before(async () => {
    stack = await shareStack();
    model = stack.find('LLM').modelId;
  });

  const control = (settings: object) =>
    fetch(`${stack.find('LLM').simulatorURL}/control`, { method: 'PUT', body: JSON.stringify(settings) });
  const readControl = async () =>
    (await (await fetch(`${stack.find('LLM').simulatorURL}/control`)).json()) as { aborted: number };

  for (const [name, OpenAI] of SDKS)
    describe(`of ${name} for Node`, () => {
      let wire: CheckedFetch;
      let client: OpenAI7;
      before(() => {
        wire = createCheckedFetch();
        const { baseURL, apiKey } = stack.find('LLM');
        client = new OpenAI({ baseURL, apiKey, fetch: wire.fetch, maxRetries: 0 });
      });
      afterEach('every answer matches the published types', () => {
        expect(wire.violations).to.deep.equal([]);
      });

      const rejection = (promise: Promise<unknown>) =>
        promise.then(
          () => undefined,
          (thrown: InstanceType<typeof OpenAI7.APIError>) => thrown,
        );

      it('are answered with the deployment’s model id and usage, without any option of a store', async () => {
        const response = await client.responses.create({ model, input });
        expect(response.model).to.equal(model);
        expect(response.output_text).to.not.equal('');
        expect(response).to.include({ store: false });
        expect(response.usage!.total_tokens).to.equal(
          response.usage!.input_tokens + response.usage!.output_tokens,
        );
      });

      it('say the same whole and streamed', async () => {
        const certain = { model, input, temperature: 0, max_output_tokens: 60 };
        const whole = await client.responses.create(certain);
        const stream = client.responses.stream(certain);
        expect((await stream.finalResponse()).output_text).to.equal(whole.output_text);
      });

      itForced('call a function, and go on with its output', async () => {
        const first = await client.responses.create({
          model,
          input,
          tools: [weather],
          tool_choice: 'required',
        });
        const call = first.output.find(
          ({ type }) => type === 'function_call',
        ) as OpenAI7.Responses.ResponseFunctionToolCall;
        expect(JSON.parse(call.arguments)).to.have.property('city');
        const second = await client.responses.create({
          model,
          tools: [weather],
          input: [
            { role: 'user', content: input },
            call,
            { type: 'function_call_output', call_id: call.call_id, output: 'sunny' },
          ],
        });
        expect(second.output_text).to.not.equal('');
      });

      itForced('stream the arguments of a function', async () => {
        let text = '';
        for await (const event of await client.responses.create({
          model,
          input,
          tools: [weather],
          tool_choice: 'required',
          stream: true,
        }))
          if (event.type === 'response.function_call_arguments.delta') text += event.delta;
        expect(JSON.parse(text)).to.have.property('city');
      });

      itForced('follow a JSON schema', async () => {
        const response = await client.responses.create({
          model,
          input,
          text: {
            format: {
              type: 'json_schema',
              name: 'ship',
              schema: { type: 'object', properties: { masts: { type: 'integer' } }, required: ['masts'] },
            },
          },
        });
        expect(JSON.parse(response.output_text).masts).to.be.a('number');
      });

      const refused: [string, string, object][] = [
        ['an earlier response', 'previous_response_id', { previous_response_id: 'resp_1' }],
        ['a stored item', 'input[0]', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
        ['work in the background', 'background', { background: true }],
        ['a search of the web', 'tools[0].type', { tools: [{ type: 'web_search' }] }],
        [
          'an MCP server',
          'tools[0].type',
          { tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://10.0.0.1' }] },
        ],
      ];
      for (const [what, param, more] of refused)
        it(`raise BadRequestError for ${what}`, async () => {
          const error = await rejection(client.responses.create({ model, input, ...more }));
          expect(error).to.be.instanceOf(OpenAI.BadRequestError);
          expect(error!.param).to.equal(param);
        });

      it('are served with a store asked for, and say that nothing is stored', async () => {
        const response = await client.responses.create({ model, input, store: true });
        expect(response).to.include({ store: false });
        const stream = client.responses.stream({ model, input, store: true });
        expect(await stream.finalResponse()).to.include({ store: false });
      });

      it('have their input counted ahead', async () => {
        const counted = await client.responses.inputTokens.count({ model, input });
        expect(counted.object).to.equal('response.input_tokens');
        const { usage } = await client.responses.create({ model, input });
        expect(counted.input_tokens).to.equal(usage!.input_tokens);
      });

      it('raise NotFoundError where a stored one is asked for', async () => {
        expect(await rejection(client.responses.retrieve('resp_1'))).to.be.instanceOf(OpenAI.NotFoundError);
      });

      itSimulated('raise the error event of a stream that breaks', async () => {
        await control({ fault: { kind: 'drop', afterFrames: 6 } });
        const read = async () => {
          for await (const _ of await client.responses.create({ model, input, stream: true }));
        };
        const error = await rejection(read());
        expect(error).to.be.instanceOf(OpenAI.APIError);
        expect(error!.code).to.equal('upstream_error');
      });

      itSimulated('free the engine when the caller stops reading', async () => {
        const before = (await readControl()).aborted;
        await control({ itlMs: 20, tokens: 10_000 });
        const plain = new OpenAI({ baseURL: stack.find('LLM').baseURL, apiKey: stack.find('LLM').apiKey });
        for await (const event of await plain.responses.create({ model, input, stream: true }))
          if (event.type === 'response.output_text.delta') break;
        await pollUntil(
          async () => (await readControl()).aborted > before,
          'the end of the call at the engine',
        );
        await control({ itlMs: 0, tokens: null });
      });
    });

  // From openresponses/openresponses, bin/compliance-test.ts: the request of each case, and the expected response.
  describe('as Open Responses has them', () => {
    const user = (content: unknown) => ({ type: 'message', role: 'user', content });
    const tools = [{ ...weather, strict: undefined }];
    const ask = 'What is the weather like in San Francisco?';
    const PIXEL =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

    const cases: [string, Record<string, unknown>, string][] = [
      ['a text', { input: [user('Say hello in three words.')] }, 'message'],
      [
        'a system prompt',
        { input: [{ type: 'message', role: 'system', content: 'Speak as a pirate.' }, user('Say hello.')] },
        'message',
      ],
      ['a tool', { input: [user(ask)], tools }, 'function_call'],
      [
        'an image',
        {
          input: [
            user([
              { type: 'input_text', text: 'What is it?' },
              { type: 'input_image', image_url: PIXEL },
            ]),
          ],
        },
        'message',
      ],
      [
        'several turns',
        {
          input: [
            user('My name is Alice.'),
            { type: 'message', role: 'assistant', content: 'Hello Alice!' },
            user('What is my name?'),
          ],
        },
        'message',
      ],
    ];
    const checked = createCheckedFetch();
    afterEach('every answer matches the published types', () => {
      expect(checked.violations).to.deep.equal([]);
    });
    const post = (body: object) => {
      const { baseURL, apiKey } = stack.find('LLM');
      return checked.fetch(`${baseURL}/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...body }),
      });
    };
    const stream = async (body: object): Promise<NamedEvent[]> => {
      const response = await post({ ...body, stream: true });
      expect(response.status).to.equal(200);
      const events = readEvents(Buffer.from(await response.arrayBuffer()).toString('latin1'));
      expect(events.flatMap(findEventFaults)).to.deep.equal([]);
      return events;
    };

    // Models with random weights neither decide to call tools nor describe images.
    for (const [what, body, type] of cases) {
      const itModel = ['a tool', 'an image'].includes(what) ? itSimulated : it;
      itModel(`answer ${what}, completed`, async () => {
        const response = await post(body);
        expect(response.status).to.equal(200);
        const answer = (await response.json()) as { status: string; output: { type: string }[] };
        expect(findResponseFaults(answer)).to.deep.equal([]);
        const { status, output } = answer;
        expect(status).to.equal('completed');
        expect(output.map((item) => item.type)).to.include(type);
      });

      itModel(`stream ${what}, to its completion`, async () => {
        const events = await stream(body);
        const output = events.at(-1)!.response!.output as { type: string }[];
        expect(output.map((item) => item.type)).to.include(type);
      });
    }

    it('stream a text from its creation to its completion', async () => {
      const events = await stream({ input: [user('Count from 1 to 5.')] });
      expect(events[0]!.type).to.equal('response.created');
      expect(events.at(-1)!.type).to.equal('response.completed');
    });

    itSimulated('stream a call of a tool as an item that is added, filled and done', async () => {
      const events = await stream({ input: [user(ask)], tools });
      const ofCalls = events.filter(({ item }) => item?.type === 'function_call').map(({ type }) => type);
      expect(ofCalls).to.deep.equal(['response.output_item.added', 'response.output_item.done']);
      expect(events.map(({ type }) => type)).to.include.members([
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
      ]);
    });
  });
});
