import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embedMany, generateImage, generateText, streamText, tool } from 'ai';
import { expect } from 'chai';
import { z } from 'zod';
import { itForced, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { describePicture, makePicture } from '../support/media-files.ts';
import { shareStack } from './shared-stack.ts';

describe('Vercel AI SDK', () => {
  let stack: LocalStack;
  const connect = (kind: string) => {
    const { baseURL, apiKey } = stack.find(kind);
    return createOpenAICompatible({ name: 'berth', baseURL, apiKey, includeUsage: true });
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
        get_weather: tool({ description: 'Weather of a city', inputSchema: z.object({ city: z.string() }) }),
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
      // The SDK does not follow links to loopback addresses, which those of `make run` are.
      providerOptions: { berth: { response_format: 'b64_json' } },
    });
    expect(await describePicture(image.uint8Array)).to.equal('png 256x256');
  });
});
