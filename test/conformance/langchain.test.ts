import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { expect } from 'chai';
import type { LocalStack } from '../support/local-stack.ts';
import { shareStack } from './shared-stack.ts';

describe('LangChain', () => {
  let stack: LocalStack;
  const connectChat = () => {
    const { baseURL, apiKey, modelId } = stack.find('LLM');
    return new ChatOpenAI({ model: modelId, apiKey, configuration: { baseURL }, maxRetries: 0 });
  };
  before(async () => {
    stack = await shareStack();
  });

  it('invokes a chat model', async () => {
    const answer = await connectChat().invoke('Tell me about ships.');
    expect(answer.text).to.not.be.empty;
    expect(answer.usage_metadata!.total_tokens).to.be.greaterThan(0);
  });

  it('streams a chat model with usage at the end', async () => {
    let text = '';
    let tokens = 0;
    for await (const chunk of await connectChat().stream('Tell me about ships.')) {
      text += chunk.text;
      tokens = chunk.usage_metadata?.total_tokens ?? tokens;
    }
    expect(text).to.not.be.empty;
    expect(tokens).to.be.greaterThan(0);
  });

  it('embeds documents and a query alike', async () => {
    const { baseURL, apiKey, modelId } = stack.find('Embedding');
    const embeddings = new OpenAIEmbeddings({
      model: modelId,
      apiKey,
      configuration: { baseURL },
      maxRetries: 0,
    });
    const [document] = await embeddings.embedDocuments(['a ship']);
    const query = await embeddings.embedQuery('a ship');
    expect(query[0]).to.be.closeTo(document![0]!, 1e-6);
  });
});
