import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { type CanaryResult, tryEngine } from '../../../../gateway/health/canary.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';
import { describeModel } from '../../../support/model-replica.ts';

/** Instead of a status: no response. */
const HANG = 0;

describe('the smallest work that shows whether an engine works', () => {
  let server: Server;
  let pools: Pools;
  let asked: [path: string, body: Record<string, unknown>][];
  let statuses: Record<string, number>;
  let text: string;
  let slots: Slots;
  before(async () => {
    server = createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req.setEncoding('utf8')) body += chunk;
      asked.push([req.url!, JSON.parse(body)]);
      const status = statuses[req.url!] ?? 404;
      if (status !== HANG) res.writeHead(status).end(text);
    });
    await listen(server, 0, '127.0.0.1');
    pools = new Pools();
  });
  beforeEach(() => {
    asked = [];
    text = '{}';
    slots = new Slots(() => 2);
  });
  after(async () => {
    await pools.destroy();
    await closeServer(server, 0);
  });
  const ask = (origin: string, spec: Record<string, unknown>) =>
    tryEngine({ pool: pools.get(origin), config: describeModel(spec), slots, timeoutMs: 500 });
  const attempt = (spec: Record<string, unknown>, answers: Record<string, number>): Promise<CanaryResult> => {
    statuses = answers;
    return ask(`http://127.0.0.1:${readServerPort(server)}`, spec);
  };
  const [chat, completions] = ['/v1/chat/completions', '/v1/completions'];
  const LLM = { kind: 'LLM' };

  for (const [status, result] of [
    [200, 'good'],
    [500, 'fault'],
    [502, 'fault'],
    [503, 'busy'],
    [429, 'busy'],
  ] as const)
    it(`is ${result} where the engine answers ${status}`, async () => {
      expect(await attempt(LLM, { [chat]: status })).to.equal(result);
      expect(asked[0]![1]).to.include({ max_tokens: 1 });
    });

  it('is a completion where the model knows no chats', async () => {
    expect(await attempt(LLM, { [chat]: 400, [completions]: 200 })).to.equal('good');
    expect(asked.map(([path]) => path)).to.deep.equal([chat, completions]);
  });

  it('is a completion, too, where the engine fails each chat: its parser may be at fault', async () => {
    expect(await attempt(LLM, { [chat]: 500, [completions]: 200 })).to.equal('good');
    expect(await attempt(LLM, { [chat]: 500, [completions]: 503 })).to.equal('busy');
    expect(await attempt(LLM, { [chat]: 500, [completions]: 500 })).to.equal('fault');
    expect(await attempt(LLM, { [chat]: 400, [completions]: 500 })).to.equal('fault');
  });

  it('is unknown where the engine refuses all of it, and of videos', async () => {
    expect(await attempt(LLM, {})).to.equal('unknown');
    expect(await attempt({ kind: 'Video' }, {})).to.equal('unknown');
  });

  it('is an embedding, a pair of texts, or an image of the smallest size', async () => {
    expect(await attempt({ kind: 'Embedding' }, { '/v1/embeddings': 200 })).to.equal('good');
    expect(await attempt({ kind: 'Rerank', engine: { preset: 'tei' } }, { '/rerank': 200 })).to.equal('good');
    expect(await attempt({ kind: 'Speech' }, { '/v1/audio/speech': 200 })).to.equal('good');
    const image = { kind: 'Image', image: { sizes: ['1024x1024', '512x768', '512x512'] } };
    expect(await attempt(image, { '/v1/images/generations': 200 })).to.equal('good');
    expect(asked[3]![1]).to.include({ size: '512x512', n: 1 });
  });

  it('is a fault where nobody listens', async () => {
    expect(await ask('http://127.0.0.1:1', LLM)).to.equal('fault');
  });

  it('takes a place, and is busy where none is free', async () => {
    const releases = [slots.take()!, slots.take()!];
    expect(await attempt(LLM, { [chat]: 200 })).to.equal('busy');
    expect(asked).to.deep.equal([]);
    releases[0]!();
    const tried = attempt(LLM, { [chat]: 200 });
    expect(slots.inflight).to.equal(2);
    expect(await tried).to.equal('good');
    expect(slots.inflight).to.equal(1);
  });

  it('is a fault where nothing comes in time, unless other works are before it', async () => {
    expect(await attempt(LLM, { [chat]: HANG })).to.equal('fault');
    slots.take();
    expect(await attempt(LLM, { [chat]: HANG })).to.equal('busy');
  });

  it('is busy where the engine lacks memory', async () => {
    text = '{"error":{"message":"CUDA out of memory"}}';
    expect(await attempt(LLM, { [chat]: 500 })).to.equal('busy');
  });

  it('is busy where vLLM drains', async () => {
    text = '{"error":{"message":"cannot schedule new futures after shutdown"}}';
    expect(await attempt(LLM, { [chat]: 500 })).to.equal('busy');
  });
});
