import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ensurePython } from '../support/python.ts';
import { OPENAI_PYTHON } from './environment.ts';
import { connect, findEndpoint, kubectl } from './installation.ts';

const messages = [{ role: 'user' as const, content: 'Tell me about ships.' }];

describe('an unmodified SDK through the ingress', () => {
  for (const name of ['tiny-chat', 'llama-chat'])
    describe(`with ${name}`, () => {
      const endpoint = findEndpoint(name);
      const client = connect(endpoint);
      const request = { model: endpoint.modelId, messages, max_tokens: 24, seed: 5 };

      it('chats, with usage', async () => {
        const answer = await client.chat.completions.create(request);
        expect(answer.model).to.equal(endpoint.modelId);
        expect(answer.choices[0]!.message.content).to.be.a('string').that.is.not.empty;
        expect(answer.usage!.completion_tokens).to.be.within(1, 24);
      });

      it('streams, with usage when asked', async () => {
        const pieces: string[] = [];
        let total = 0;
        let reason: string | null = null;
        const stream = await client.chat.completions.create({
          ...request,
          stream: true,
          stream_options: { include_usage: true },
        });
        for await (const chunk of stream) {
          if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
          reason = chunk.choices[0]?.finish_reason ?? reason;
          total = chunk.usage?.total_tokens ?? total;
        }
        expect(pieces.length).to.be.greaterThan(1);
        expect(reason).to.be.oneOf(['stop', 'length']);
        expect(total).to.be.greaterThan(1);
      });

      it('completes a prompt', async () => {
        const answer = await client.completions.create({
          model: endpoint.modelId,
          prompt: 'a ship',
          max_tokens: 8,
        });
        expect(answer.choices[0]!.text).to.be.a('string').that.is.not.empty;
      });

      it('lists the deployment’s one model', async () => {
        const models = await client.models.list();
        expect(models.data.map(({ id }) => id)).to.deep.equal([endpoint.modelId]);
      });
    });

  it('embeds', async () => {
    const endpoint = findEndpoint('tiny-embed');
    const answer = await connect(endpoint).embeddings.create({
      model: endpoint.modelId,
      input: ['a ship', 'a berth'],
    });
    expect(answer.data.map(({ embedding }) => embedding.length)).to.have.length(2);
    expect(answer.data[0]!.embedding).to.not.deep.equal(answer.data[1]!.embedding);
  });

  it('chats, streams, embeds and raises in Python', async () => {
    const chat = findEndpoint('tiny-chat');
    const embed = findEndpoint('tiny-embed');
    const env = {
      ...process.env,
      CHAT_URL: chat.baseURL,
      CHAT_MODEL: chat.modelId,
      EMBED_URL: embed.baseURL,
      EMBED_MODEL: embed.modelId,
      API_KEY: chat.apiKey,
    };
    const program = ensurePython([OPENAI_PYTHON]);
    const { stdout } = await promisify(execFile)(program, ['test/conformance/openai_python.py'], { env });
    const seen = JSON.parse(stdout);
    expect(seen.streamed).to.equal(seen.text).and.to.not.be.empty;
    expect(seen.vectors).to.have.length(2);
    expect([seen.mismatch, seen.wrong_key]).to.deep.equal(['model_mismatch', 'invalid_api_key']);
  });

  it('shows every deployment Ready, with its URL, in kubectl get md', async () => {
    const table = await kubectl('get', 'md');
    for (const name of ['tiny-chat', 'tiny-embed', 'llama-chat']) {
      const row = table.split('\n').find((line) => line.startsWith(`${name} `));
      expect(row, table).to.match(/ Ready +\d+ +\d+ +http:\/\//);
      expect(row).to.include(new URL(findEndpoint(name).baseURL).host);
    }
  });
});
