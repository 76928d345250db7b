import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAICompatible as createOpenAICompatible3 } from '@ai-sdk/openai-compatible-3';
import * as ai6 from 'ai';
import * as ai7 from 'ai-7';
import { expect } from 'chai';
import { z } from 'zod';
import { itForced, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { describePicture, makePicture } from '../support/media-files.ts';
import { shareStack } from './shared-stack.ts';

// Both have these calls; the types of the older one are used for both.
const VERSIONS: [string, typeof ai6, typeof createOpenAICompatible][] = [
  ['ai 6.x', ai6, createOpenAICompatible],
  [
    'ai 7.x',
    ai7 as unknown as typeof ai6,
    createOpenAICompatible3 as unknown as typeof createOpenAICompatible,
  ],
];

for (const [name, { embedMany, generateImage, generateText, streamText, tool }, createProvider] of VERSIONS)
  describe(`Vercel AI SDK, ${name}`, () => {
    let stack: LocalStack;
    const connect = (kind: string) => {
      const { baseURL, apiKey } = stack.find(kind);
      return createProvider({ name: 'berth', baseURL, apiKey, includeUsage: true });
    };
    before(async () => {
      stack = await shareStack();
    });

    it('generates text with usage', async () => {
      const model = connect('LLM')(stack.find('LLM').modelId);
      const { text, usage } = await generateText({ model, prompt: 'Tell me about ships.' });
      expect(text).to.not.be.empty;
      expect(usage.totalTokens).to.be.greaterThan(0);
    });

    it('streams text and ends with usage', async () => {
      const model = connect('LLM')(stack.find('LLM').modelId);
      const result = streamText({ model, prompt: 'Tell me about ships.' });
      let text = '';
      for await (const part of result.textStream) text += part;
      expect(text).to.not.be.empty;
      expect((await result.usage).totalTokens).to.be.greaterThan(0);
    });

    itForced('calls a tool', async () => {
      const model = connect('LLM')(stack.find('LLM').modelId);
      const { toolCalls } = await generateText({
        model,
        prompt: 'What is the weather?',
        toolChoice: 'required',
        tools: {
          get_weather: tool({
            description: 'Weather of a city',
            inputSchema: z.object({ city: z.string() }),
          }),
        },
      });
      expect(toolCalls.map(({ toolName }) => toolName)).to.deep.equal(['get_weather']);
    });

    it('embeds a batch', async () => {
      const model = connect('Embedding').textEmbeddingModel(stack.find('Embedding').modelId);
      const { embeddings } = await embedMany({ model, values: ['a ship', 'a berth'] });
      expect(embeddings).to.have.length(2);
      expect(embeddings[0]).to.have.length(embeddings[1]!.length);
    });

    itSimulated('generates images, the number and the size asked for', async () => {
      const model = connect('Image').imageModel(stack.find('Image').modelId);
      const { images } = await generateImage({ model, prompt: 'A harbour', n: 2, size: '256x256' });
      expect(await Promise.all(images.map(({ uint8Array }) => describePicture(uint8Array)))).to.deep.equal([
        'png 256x256',
        'png 256x256',
      ]);
    });

    itSimulated('edits an image', async () => {
      const model = connect('Image').imageModel(stack.find('Image').modelId);
      const { image } = await generateImage({
        model,
        prompt: { text: 'At night', images: [await makePicture(256, 256)] },
        size: '256x256',
      });
      expect(await describePicture(image.uint8Array)).to.equal('png 256x256');
    });
  });

describe('Vercel AI SDK with the Responses of @ai-sdk/openai', () => {
  let stack: LocalStack;
  before(async () => {
    stack = await shareStack();
  });

  /** A second turn, with the first one in its messages. */
  async function converse(openai: Record<string, boolean>): Promise<string> {
    const { baseURL, apiKey, modelId } = stack.find('LLM');
    const model = createOpenAI({ baseURL, apiKey })(modelId);
    const options = { model, maxRetries: 0, providerOptions: { openai } };
    const first = { role: 'user' as const, content: 'Tell me about ships.' };
    const { response } = await ai7.generateText({ ...options, messages: [first] });
    const more = { role: 'user' as const, content: 'And about berths?' };
    const { text } = await ai7.generateText({ ...options, messages: [first, ...response.messages, more] });
    return text;
  }

  it('goes on in a second turn with `store: false`', async () => {
    expect(await converse({ store: false })).to.not.be.empty;
  });

  it('is told what helps without it, as it refers to what a store would have', async () => {
    const error = await converse({}).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(ai7.APICallError.isInstance(error)).to.equal(true);
    expect(error).to.include({ statusCode: 400 });
    expect((error as Error).message)
      .to.include('stores no responses')
      .and.include('`store: false`');
  });

  itSimulated('calls a tool, and answers with its result', async () => {
    const { baseURL, apiKey, modelId } = stack.find('LLM');
    const { steps, text } = await ai7.generateText({
      model: createOpenAI({ baseURL, apiKey })(modelId),
      prompt: 'What is the weather?',
      tools: {
        get_weather: ai7.tool({
          description: 'Weather of a city',
          inputSchema: z.object({ city: z.string() }),
          execute: async () => 'sunny',
        }),
      },
      stopWhen: ai7.stepCountIs(2),
      providerOptions: { openai: { store: false } },
    });
    expect(steps).to.have.length(2);
    expect(text).to.not.be.empty;
  });
});
