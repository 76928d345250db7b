/** Embeddings of the real engine, through the gateway and directly. */
import { expect } from 'chai';
import { ask, type Fields, send, strip, type Target } from './answers.ts';
import { readEngine } from './catalog.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();

const CONVERSATIONS: [string, Fields][] = [
  [
    'a conversation',
    {
      messages: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: [{ type: 'text', text: 'the quick brown fox' }] },
      ],
    },
  ],
];

describe(`embeddings of ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name, { kind: 'Embedding' });
  });
  after(() => served?.stop());

  const kinds: [string, Fields][] = [
    ['a text', { input: 'hello' }],
    ['several texts', { input: ['hello', 'world'] }],
    ['tokens', { input: [50, 51, 52] }],
    ['several lists of tokens', { input: [[50, 51], [52]] }],
    ['base64, as SDKs ask for it', { input: 'hello', encoding_format: 'base64' }],
    ...(engine.hasMoreEmbeddings ? CONVERSATIONS : []),
  ];
  for (const [title, body] of kinds)
    it(`are as the engine itself has them: ${title}`, async () => {
      const direct = await ask(served.engine, '/embeddings', body);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      expect(strip(await ask(served.gateway, '/embeddings', body))).to.deep.equal(strip(direct));
    });

  if (engine.hasMoreEmbeddings)
    it('are as the engine itself has them: bytes, with the header that describes them, and without', async () => {
      const input = ['hello', 'world and more'];
      for (const encoding_format of ['bytes', 'bytes_only']) {
        const read = async (target: Target) => {
          const response = await send(target, '/embeddings', { input, encoding_format });
          expect(response.status).to.equal(200);
          const { data, usage } = JSON.parse(response.headers.get('metadata') ?? '{}');
          return { data, usage, bytes: Buffer.from(await response.arrayBuffer()).toString('base64') };
        };
        const direct = await read(served.engine);
        expect(direct.bytes).to.not.equal('');
        expect(direct.data !== undefined).to.equal(encoding_format === 'bytes');
        expect(await read(served.gateway)).to.deep.equal(direct);
      }
    });
});
