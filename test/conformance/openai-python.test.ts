import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { ensurePython } from '../support/python.ts';

const VERSIONS = ['openai==3.22.1', 'openai==2.54.0'];

describe('OpenAI SDK for Python', () => {
  let stack: LocalStack;
  before(async () => {
    stack = await startLocalStack();
  });
  after(() => stack?.stop());

  for (const version of VERSIONS)
    it(`chats, streams, embeds, lists and raises with ${version}`, async () => {
      const chat = stack.find('LLM');
      const embed = stack.find('Embedding');
      const { stdout } = await promisify(execFile)(
        ensurePython([version]),
        ['test/conformance/openai_python.py'],
        {
          env: {
            ...process.env,
            CHAT_URL: chat.baseURL,
            CHAT_MODEL: chat.modelId,
            EMBED_URL: embed.baseURL,
            EMBED_MODEL: embed.modelId,
            API_KEY: chat.apiKey,
          },
        },
      );
      const seen = JSON.parse(stdout);
      expect(seen.text).to.not.be.empty;
      expect(seen.streamed).to.equal(seen.text);
      expect(seen.stream_tokens).to.equal(seen.total_tokens);
      expect(seen.vectors).to.have.length(2);
      expect(seen.models).to.deep.equal([chat.modelId]);
      expect([seen.mismatch, seen.wrong_key]).to.deep.equal(['model_mismatch', 'invalid_api_key']);
    });
});
