import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { pollUntil } from '../../support/poll.ts';
import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

interface Metadata {
  id: string;
  model: string;
  data: { index: number; start: number; end: number; shape: number[] }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

/** Vectors of 32-bit floats, as the metadata cuts them. */
const readVectors = (bytes: Buffer, { data }: Metadata): number[][] =>
  data.map(({ start, end }) =>
    Array.from({ length: (end - start) / 4 }, (_, index) => bytes.readFloatLE(start + index * 4)),
  );

describe('embeddings as bytes', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({
      kind: 'Embedding',
      settings: { modelId: 'org/embedding', enginePreset: 'vllm' },
    });
    await fixture.simulator.putControl({ like: 'vllm' });
  });
  after(() => fixture.stop());

  const embed = (body: object, key?: string) => fixture.post('/v1/embeddings', body, { key });
  const readTokens = async (key: string) => {
    const day = Math.floor(Date.now() / 86_400_000);
    const name = workKeys(fixture.endpoint.config.namespace).tpd(hashApiKey(key), day);
    return Number((await fixture.connection.redis.get(name)) ?? 0);
  };
  const INPUT = ['one text', 'another text', 'ü'];

  it('are the same numbers, with a header that says which are whose', async () => {
    const plain = (await (await embed({ input: INPUT })).json()) as {
      data: { embedding: number[] }[];
      usage: Metadata['usage'];
    };
    const response = await embed({ input: INPUT, encoding_format: 'bytes' });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/octet-stream');
    const metadata = JSON.parse(response.headers.get('metadata')!) as Metadata;
    expect(metadata.model).to.equal('org/embedding');
    // The header's is shorter.
    expect(plain.usage).to.include(metadata.usage);
    const vectors = readVectors(Buffer.from(await response.arrayBuffer()), metadata);
    expect(vectors).to.have.length(3);
    for (const [index, vector] of vectors.entries())
      expect(vector).to.deep.equal(Array.from(new Float32Array(plain.data[index]!.embedding)));
  });

  it('come without the header where the client wants none, and are charged all the same', async () => {
    for (const encoding of ['bytes', 'bytes_only']) {
      const key = await fixture.endpoint.makeKey();
      const response = await embed({ input: INPUT, encoding_format: encoding }, key);
      expect(response.headers.has('metadata')).to.equal(encoding === 'bytes');
      expect((await response.arrayBuffer()).byteLength).to.equal(3 * 384 * 4);
      await pollUntil(async () => (await readTokens(key)) === 2 + 3 + 1, 'the settlement');
    }
  });

  it('can be two thousand at once', async () => {
    const response = await embed({
      input: Array(2_048).fill('text'),
      dimensions: 4,
      encoding_format: 'bytes_only',
    });
    expect(response.status).to.equal(200);
    expect((await response.arrayBuffer()).byteLength).to.equal(2_048 * 16);
  });

  const refused: [string, object, string][] = [
    [
      'more inputs than a header describes',
      { input: Array(33).fill('a'), encoding_format: 'bytes' },
      'input',
    ],
    [
      'more inputs than vLLM describes',
      { input: Array(2_049).fill('a'), encoding_format: 'bytes_only' },
      'input',
    ],
    ['an unknown encoding', { input: 'a', encoding_format: 'hex' }, 'encoding_format'],
  ];
  for (const [name, body, word] of refused)
    it(`are refused for ${name}`, async () => {
      const envelope = await readEnvelope(await embed(body));
      expect(envelope.status).to.equal(400);
      expect(envelope.message).to.include(`\`${word}\``);
    });

  it('are refused where the engine is not vLLM', async () => {
    const endpoint = await startTextEndpoint({
      connection: fixture.connection,
      engineURL: fixture.simulator.url,
      settings: { kind: 'Embedding', enginePreset: 'tei' },
    });
    const key = await endpoint.makeKey();
    const response = await fetch(`${endpoint.origin}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'a', encoding_format: 'bytes' }),
    });
    const envelope = await readEnvelope(response);
    expect(envelope.status).to.equal(400);
    expect(envelope.message).to.include('tei');
    await endpoint.stop();
  });

  const BODY = JSON.stringify({ input: 'a', encoding_format: 'bytes' });
  /** Asks an engine that describes its vectors by these headers. */
  async function askScripted(described: Record<string, string>, bytes = Buffer.alloc(8)): Promise<Response> {
    const engine = await startScriptedEngine((_, res) =>
      res.writeHead(200, { 'content-type': 'application/octet-stream', ...described }).end(bytes),
    );
    const endpoint = await startTextEndpoint({
      connection: fixture.connection,
      engineURL: engine.url,
      settings: { kind: 'Embedding', enginePreset: 'vllm' },
    });
    try {
      const response = await fetch(`${endpoint.origin}/v1/embeddings`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await endpoint.makeKey()}`,
          'content-type': 'application/json',
          'x-berth-receipt': 'true',
        },
        body: BODY,
      });
      return new Response(await response.arrayBuffer(), response);
    } finally {
      await endpoint.stop();
      await engine.stop();
    }
  }

  it('are an error where the engine says nothing of them', async () => {
    expect((await readEnvelope(await askScripted({}))).status).to.equal(502);
  });

  it('are an error where one is no list of finite numbers, or is missing', async () => {
    const all = { metadata: '{"data":[{"index":0,"start":0,"end":8}]}' };
    const infinite = Buffer.from(Float32Array.from([1, Number.POSITIVE_INFINITY]).buffer);
    for (const [headers, bytes] of [
      [all, infinite],
      [all, Buffer.alloc(4)],
      [{ metadata: '{"data":[]}' }, Buffer.alloc(8)],
    ] as const) {
      const response = await askScripted(headers, bytes);
      const { status, code, message } = await readEnvelope(response);
      expect([status, code, response.headers.get('x-berth-tokens')]).to.deep.equal([
        502,
        'upstream_error',
        null,
      ]);
      expect(message).to.include('`input[0]`');
    }
  });

  it('cost what their input is estimated at where the engine tells no usage', async () => {
    const { status, headers } = await askScripted({ metadata: '{"data":[{"index":0,"start":0,"end":8}]}' });
    expect([status, headers.get('x-berth-tokens')]).to.deep.equal([200, String(Math.ceil(BODY.length / 4))]);
  });
});
