/** Anthropic's messages through its SDK for Node, and further requests of Claude Code. */
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { isSimulated, itForced, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import { type CheckedFetch, createCheckedFetch } from './checked-fetch.ts';
import { shareStack } from './shared-stack.ts';

const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Tell me about ships.' }];
const OVERLOADED = 529;

describe('@anthropic-ai/sdk for Node', () => {
  let stack: LocalStack;
  let wire: CheckedFetch;
  let client: Anthropic;
  let origin: string;
  let apiKey: string;
  let model: string;
  let request: Anthropic.MessageCreateParamsNonStreaming;

  before(async () => {
    stack = await shareStack();
    wire = createCheckedFetch();
    const entry = stack.find('LLM');
    ({ apiKey, modelId: model } = entry);
    origin = new URL(entry.baseURL).origin;
    client = new Anthropic({ baseURL: origin, apiKey, fetch: wire.fetch, maxRetries: 0 });
    request = { model, messages, max_tokens: 200 };
  });
  afterEach('every answer matches the published types', () => {
    expect(wire.violations).to.deep.equal([]);
  });

  const control = (settings: object) =>
    fetch(`${stack.find('LLM').simulatorURL}/control`, { method: 'PUT', body: JSON.stringify(settings) });
  const readControl = async () =>
    (await (await fetch(`${stack.find('LLM').simulatorURL}/control`)).json()) as {
      aborted: number;
      requests: number;
    };
  const rejection = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (thrown: InstanceType<typeof Anthropic.APIError>) => thrown,
    );

  it('gets a message with the deployment’s model id, usage and the request’s id', async () => {
    const message = await client.messages.create(request);
    expect(message.model).to.equal(model);
    expect(message.content[0]).to.include({ type: 'text' });
    expect(message.usage.output_tokens).to.be.greaterThan(0);
    expect(message._request_id).to.match(/^[0-9a-f-]{36}$/);
    expect(wire.checked).to.be.greaterThan(0);
  });

  it('gets the same whole and streamed', async () => {
    const certain = { ...request, temperature: 0 };
    const whole = await client.messages.create(certain);
    const streamed = await client.messages.stream(certain).finalMessage();
    expect(streamed.content).to.deep.equal(whole.content);
    expect(streamed.usage).to.include({ output_tokens: whole.usage.output_tokens });
    expect(streamed.stop_reason).to.equal(whole.stop_reason);
  });

  for (const [name, options] of [
    ['its key as a bearer token', (): object => ({ baseURL: origin, authToken: apiKey, apiKey: null })],
    ['a base URL that ends in /v1', (): object => ({ baseURL: `${origin}/v1`, apiKey })],
  ] as const)
    it(`may be given ${name}`, async () => {
      const other = new Anthropic({ ...options(), maxRetries: 0 });
      expect((await other.messages.create(request)).type).to.equal('message');
    });

  itForced('uses a tool, and goes on with its result', async () => {
    const first = await client.messages.create({
      ...request,
      tools: [weather],
      tool_choice: { type: 'any' },
    });
    expect(first.stop_reason).to.equal('tool_use');
    const use = first.content.find(({ type }) => type === 'tool_use') as Anthropic.ToolUseBlock;
    expect(use.input).to.have.property('city');
    const second = await client.messages.create({
      ...request,
      tools: [weather],
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
      ],
    });
    expect(second.content[0]).to.include({ type: 'text' });
  });

  itForced('streams the input of a tool', async () => {
    const stream = client.messages.stream({
      ...request,
      tools: [weather],
      tool_choice: { type: 'tool', name: 'get_weather' },
    });
    const { content } = await stream.finalMessage();
    expect((content[0] as Anthropic.ToolUseBlock).input).to.have.property('city');
  });

  it('counts tokens as the message then has them', async () => {
    const { input_tokens } = await client.messages.countTokens({ model, messages, system: 'You are brief.' });
    const message = await client.messages.create({ ...request, system: 'You are brief.' });
    expect(input_tokens).to.equal(message.usage.input_tokens);
  });

  it('calls the beta routes, which have a query and headers of their own', async () => {
    const message = await client.beta.messages.create({
      ...request,
      betas: ['interleaved-thinking-2025-05-14'],
    });
    expect(message.stop_reason).to.be.a('string');
    expect((await client.beta.messages.countTokens({ model, messages })).input_tokens).to.be.greaterThan(0);
  });

  it('lists the one model', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).to.deep.equal([model]);
  });

  const failures: [string, number, string, () => Promise<unknown>][] = [
    [
      'another model',
      400,
      'invalid_request_error',
      () => client.messages.create({ ...request, model: 'claude-sonnet-4-5' }),
    ],
    [
      'no max_tokens',
      400,
      'invalid_request_error',
      () => client.messages.create({ model, messages } as never),
    ],
    [
      'a search of the web',
      400,
      'invalid_request_error',
      () =>
        client.messages.create({ ...request, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ],
    ['a batch', 404, 'not_found_error', () => client.messages.batches.list()],
    [
      'a wrong key',
      401,
      'authentication_error',
      () => new Anthropic({ baseURL: origin, apiKey: 'sk-wrong' }).messages.create(request),
    ],
  ];
  for (const [what, status, type, call] of failures)
    it(`raises ${status} ${type} for ${what}, with the request’s id`, async () => {
      const error = await rejection(call());
      expect(error).to.be.instanceOf(Anthropic.APIError);
      expect([error!.status, error!.type]).to.deep.equal([status, type]);
      expect(error!.requestID).to.be.a('string');
    });

  for (const status of [429, OVERLOADED])
    it(`repeats a request that was answered ${status} after Retry-After`, async () => {
      let calls = 0;
      const patient = new Anthropic({
        baseURL: origin,
        apiKey,
        maxRetries: 1,
        fetch: async (...call: Parameters<typeof fetch>) => {
          if (calls++ === 0) return new Response('{}', { status, headers: { 'retry-after': '0' } });
          return fetch(...call);
        },
      });
      expect((await patient.messages.create(request)).type).to.equal('message');
      expect(calls).to.equal(2);
    });

  itSimulated('raises the error event of a stream that breaks', async () => {
    await control({ fault: { kind: 'drop', afterFrames: 6 } });
    const error = await rejection(client.messages.stream(request).finalMessage());
    expect(error).to.be.instanceOf(Anthropic.APIError);
    expect(error!.type).to.equal('api_error');
  });

  itSimulated('frees the engine when it is aborted', async () => {
    const before = (await readControl()).aborted;
    await control({ itlMs: 20, tokens: 10_000 });
    const plain = new Anthropic({ baseURL: origin, apiKey });
    const stream = await plain.messages.create({ ...request, max_tokens: 10_000, stream: true });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    await pollUntil(async () => (await readControl()).aborted > before, 'the end of the call at the engine');
    await control({ itlMs: 0, tokens: null });
  });

  it('takes what Claude Code sends: cached blocks of the system prompt, a user, thinking with a choice of tools', async () => {
    const cached = { cache_control: { type: 'ephemeral' } } as const;
    const stream = client.beta.messages.stream({
      model,
      max_tokens: 4_096,
      system: [
        { type: 'text', text: 'You are Claude Code.', ...cached },
        { type: 'text', text: 'Be brief.', ...cached },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '<system-reminder>No tools are needed.</system-reminder>' },
            { type: 'text', text: 'Tell me about ships.', ...cached },
          ],
        },
      ],
      tools: [{ ...weather, ...cached }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      metadata: { user_id: 'user_0123_account__session_4567' },
      temperature: 1,
      betas: ['claude-code-20250219', 'interleaved-thinking-2025-05-14'],
    });
    const message = await stream.finalMessage();
    expect(message).to.include({ type: 'message', role: 'assistant', model });
    expect(message.stop_reason).to.be.oneOf(['end_turn', 'tool_use', 'max_tokens']);
    expect(message.content).to.not.be.empty;
    expect(message.usage.input_tokens).to.be.greaterThan(0);
    if (!isSimulated) return;
    const { last } = (await (await fetch(`${stack.find('LLM').simulatorURL}/control`)).json()) as {
      last: { body: Record<string, unknown> };
    };
    expect(last.body).to.deep.include({
      metadata: { user_id: 'user_0123_account__session_4567' },
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    expect((last.body.system as object[])[0]).to.have.deep.property('cache_control', { type: 'ephemeral' });
  });

  it('is greeted at HEAD /, by which Claude Code opens its connection', async () => {
    expect((await fetch(origin, { method: 'HEAD' })).status).to.equal(200);
  });
});
