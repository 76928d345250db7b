import { expect } from 'chai';
import OpenAI7 from 'openai';
import OpenAI6 from 'openai-6';
import { itForced, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { type CheckedFetch, createCheckedFetch } from './checked-fetch.ts';
import { shareStack } from './shared-stack.ts';

const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const messages = [{ role: 'user' as const, content: 'Tell me about ships.' }];

// Both major versions have these calls; the types of the newer one are used for both.
const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];

for (const [name, OpenAI] of SDKS)
  describe(`${name} for Node`, () => {
    let stack: LocalStack;
    let wire: CheckedFetch;
    let chat: OpenAI7;
    let embed: OpenAI7;

    before(async () => {
      stack = await shareStack();
      wire = createCheckedFetch();
      const connect = (kind: string) => {
        const { baseURL, apiKey } = stack.find(kind);
        return new OpenAI({ baseURL, apiKey, fetch: wire.fetch, maxRetries: 0 });
      };
      chat = connect('LLM');
      embed = connect('Embedding');
    });
    afterEach('every answer matches the published types', () => {
      expect(wire.violations).to.deep.equal([]);
    });

    it('chats, with the deployment’s model id and usage in the answer', async () => {
      const model = stack.find('LLM').modelId;
      const answer = await chat.chat.completions.create({ model, messages, seed: 7 });
      expect(answer.model).to.equal(model);
      expect(answer.choices[0]!.message.content).to.be.a('string').that.is.not.empty;
      expect(answer.usage!.total_tokens).to.equal(
        answer.usage!.prompt_tokens + answer.usage!.completion_tokens,
      );
      expect(wire.checked).to.be.greaterThan(0);
    });

    it('gives the same answer for the same seed, streamed or not', async () => {
      const request = { model: stack.find('LLM').modelId, messages, seed: 11, max_tokens: 24 };
      const whole = await chat.chat.completions.create(request);
      let streamed = '';
      for await (const chunk of await chat.chat.completions.create({ ...request, stream: true }))
        streamed += chunk.choices[0]?.delta.content ?? '';
      expect(streamed).to.equal(whole.choices[0]!.message.content);
    });

    it('streams without a usage chunk unless asked, and with one when asked', async () => {
      const request = { model: stack.find('LLM').modelId, messages, stream: true as const };
      for await (const chunk of await chat.chat.completions.create(request)) {
        expect(chunk.usage ?? null).to.equal(null);
        expect(chunk.choices).to.have.length(1);
      }
      const last = [];
      for await (const chunk of await chat.chat.completions.create({
        ...request,
        stream_options: { include_usage: true },
      }))
        if (chunk.usage) last.push(chunk);
      expect(last).to.have.length(1);
      expect(last[0]!.choices).to.deep.equal([]);
      expect(last[0]!.usage!.total_tokens).to.be.greaterThan(0);
    });

    it('answers n choices, with logprobs', async () => {
      const answer = await chat.chat.completions.create({
        model: stack.find('LLM').modelId,
        messages,
        n: 2,
        logprobs: true,
        top_logprobs: 2,
        max_tokens: 5,
      });
      expect(answer.choices.map(({ index }) => index)).to.deep.equal([0, 1]);
      expect(answer.choices[0]!.logprobs!.content!.length).to.be.greaterThan(0);
      expect(answer.choices[0]!.finish_reason).to.equal('length');
    });

    itForced('calls tools, streamed and not', async () => {
      const request = {
        model: stack.find('LLM').modelId,
        messages,
        tools: [weather],
        tool_choice: 'required' as const,
      };
      const answer = await chat.chat.completions.create(request);
      const call = answer.choices[0]!.message.tool_calls![0]!;
      expect(answer.choices[0]!.finish_reason).to.equal('tool_calls');
      expect(call.type === 'function' && JSON.parse(call.function.arguments)).to.have.property('city');
      const stream = chat.chat.completions.stream(request);
      const final = await stream.finalChatCompletion();
      expect(final.choices[0]!.message.tool_calls).to.have.length(1);
    });

    it('answers by a JSON schema', async () => {
      const answer = await chat.chat.completions.create({
        model: stack.find('LLM').modelId,
        messages,
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'ship',
            schema: { type: 'object', properties: { masts: { type: 'integer' } }, required: ['masts'] },
          },
        },
      });
      expect(JSON.parse(answer.choices[0]!.message.content!).masts).to.be.a('number');
    });

    it('completes prompts, streamed and not', async () => {
      const model = stack.find('LLM').modelId;
      const request = { model, prompt: 'Once upon a time', max_tokens: 8, temperature: 0 };
      const answer = await chat.completions.create(request);
      expect(answer.choices[0]!.text).to.be.a('string').that.is.not.empty;
      let text = '';
      for await (const chunk of await chat.completions.create({ ...request, stream: true }))
        text += chunk.choices[0]?.text ?? '';
      expect(text).to.equal(answer.choices[0]!.text);
    });

    it('embeds one text and a batch, in the SDK’s own encoding and as floats', async () => {
      const { modelId: model } = stack.find('Embedding');
      const one = await embed.embeddings.create({ model, input: 'a ship' });
      const floats = await embed.embeddings.create({
        model,
        input: ['a ship', 'a berth'],
        encoding_format: 'float',
      });
      expect(floats.data).to.have.length(2);
      expect(one.data[0]!.embedding).to.have.length(floats.data[0]!.embedding.length);
      expect(one.data[0]!.embedding[0]).to.be.closeTo(floats.data[0]!.embedding[0]!, 1e-6);
    });

    it('lists its one model, and retrieves it by an id with a slash', async () => {
      const { modelId } = stack.find('LLM');
      const list = await chat.models.list();
      expect(list.data.map(({ id }) => id)).to.deep.equal([modelId]);
      expect((await chat.models.retrieve(modelId)).id).to.equal(modelId);
    });

    const failures: [string, number, string | null, (client: OpenAI7) => Promise<unknown>][] = [
      [
        'another model',
        400,
        'model_mismatch',
        (c) => c.chat.completions.create({ model: 'gpt-4', messages }),
      ],
      [
        'embeddings of a chat model',
        400,
        'wrong_modality',
        (c) => c.embeddings.create({ model: 'berth/tiny-chat', input: 'x' }),
      ],
      ['an image of a chat model', 400, 'wrong_modality', (c) => c.images.generate({ prompt: 'x' })],
      ['an unknown model', 404, 'model_not_found', (c) => c.models.retrieve('nope')],
      ['an unknown route', 404, 'not_found', (c) => c.responses.retrieve('resp_1')],
      [
        'a temperature that is no number',
        400,
        'invalid_type',
        (c) => c.chat.completions.create({ model: 'berth/tiny-chat', messages, temperature: 'hot' as never }),
      ],
    ];
    for (const [what, status, code, call] of failures)
      it(`raises ${status} ${code} for ${what}`, async () => {
        const error = await call(chat).then(
          () => undefined,
          (thrown: InstanceType<typeof OpenAI7.APIError>) => thrown,
        );
        expect(error).to.be.instanceOf(OpenAI.APIError);
        expect([error!.status, error!.code]).to.deep.equal([status, code]);
        expect(error!.message).to.not.be.empty;
      });

    it('raises AuthenticationError for a wrong key', async () => {
      const client = new OpenAI({ baseURL: stack.find('LLM').baseURL, apiKey: 'sk-wrong', maxRetries: 0 });
      const error = await client.models.list().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(OpenAI.AuthenticationError);
    });

    itSimulated('raises the error event of a stream that breaks', async () => {
      const control = `${stack.find('LLM').simulatorURL}/control`;
      await fetch(control, {
        method: 'PUT',
        body: JSON.stringify({ fault: { kind: 'drop', afterFrames: 3 } }),
      });
      const read = async () => {
        for await (const _ of await chat.chat.completions.create({
          model: 'berth/tiny-chat',
          messages,
          stream: true,
        }));
      };
      const error = await read().then(
        () => undefined,
        (thrown: InstanceType<typeof OpenAI7.APIError>) => thrown,
      );
      expect(error).to.be.instanceOf(OpenAI.APIError);
      expect(error!.code).to.equal('upstream_error');
    });
  });
