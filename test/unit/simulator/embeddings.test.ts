import { expect } from 'chai';
import { MODEL, type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

interface Embeddings {
  object: string;
  model: string;
  data: { object: string; index: number; embedding: number[] | string }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, index) => sum + value * b[index]!, 0);

describe('the simulated embeddings', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ kind: 'Embedding' });
  });
  after(() => simulator.stop());

  const ask = async (body: object): Promise<Embeddings> => {
    const response = await simulator.post('/v1/embeddings', body);
    expect(response.status).to.equal(200);
    return (await response.json()) as Embeddings;
  };
  const vectorOf = async (input: string, more: object = {}): Promise<number[]> =>
    (await ask({ input, ...more })).data[0]!.embedding as number[];

  it('answers with every field that OpenAI requires', async () => {
    const answer = await ask({ input: 'Hello there', model: MODEL });
    expect(answer).to.include({ object: 'list', model: MODEL });
    expect(answer.data[0]).to.include({ object: 'embedding', index: 0 });
    expect(answer.usage).to.deep.equal({ prompt_tokens: 3, total_tokens: 3 });
  });

  it('gives repeatable vectors of length one', async () => {
    for (const input of ['Hello there', '', '!?']) {
      const vector = await vectorOf(input);
      expect(dot(vector, vector)).to.be.closeTo(1, 1e-4);
      expect(await vectorOf(input)).to.deep.equal(vector);
    }
  });

  it('puts texts that share words nearer than texts that share none', async () => {
    const sea = await vectorOf('the ship crosses the wide sea');
    const ship = await vectorOf('a ship on the sea');
    const tax = await vectorOf('income declarations due in April');
    expect(dot(sea, ship)).to.be.above(dot(sea, tax) + 0.2);
  });

  it('encodes base64 as little-endian 32-bit floats of the same values', async () => {
    const floats = await vectorOf('Hello there');
    const { data } = await ask({ input: 'Hello there', encoding_format: 'base64' });
    const bytes = Buffer.from(data[0]!.embedding as string, 'base64');
    const decoded = floats.map((_, index) => bytes.readFloatLE(index * 4));
    expect(bytes.length).to.equal(floats.length * 4);
    expect(decoded).to.deep.equal(floats.map(Math.fround));
  });

  for (const dimensions of [1, 64, 1536])
    it(`obeys dimensions ${dimensions}`, async () => {
      expect(await vectorOf('Hello', { dimensions })).to.have.lengthOf(dimensions);
    });

  const inputs: [why: string, input: unknown, count: number][] = [
    ['texts', ['one', 'two', 'three'], 3],
    ['token ids', [5, 6, 7], 1],
    ['lists of token ids', [[5, 6], [7]], 2],
  ];
  for (const [why, input, count] of inputs)
    it(`gives a vector for each input: ${why}`, async () => {
      const { data } = await ask({ input });
      expect(data.map(({ index }) => index)).to.deep.equal([...Array(count).keys()]);
    });

  const bad: [why: string, path: string, body: object][] = [
    ['no input', '/v1/embeddings', {}],
    ['an empty list', '/v1/embeddings', { input: [] }],
    ['an input of the wrong type', '/v1/embeddings', { input: { text: 'x' } }],
    ['an unknown encoding', '/v1/embeddings', { input: 'x', encoding_format: 'hex' }],
    ['no dimensions at all', '/v1/embeddings', { input: 'x', dimensions: 0 }],
    ['a chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
  ];
  for (const [why, path, body] of bad)
    it(`refuses ${why}`, async () => {
      const response = await simulator.post(path, body);
      expect(response.status).to.equal(400);
      expect(((await response.json()) as { error: { code: number } }).error.code).to.equal(400);
    });
});
