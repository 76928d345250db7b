import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Pool } from 'undici';
import { createEngineMetrics } from '../../../../gateway/sidecar/engine-metrics.ts';

describe("the engine's metrics", () => {
  let engine: Server;
  let answer: RequestListener;
  let asked = 0;
  let pool: Pool;
  beforeEach(async () => {
    asked = 0;
    engine = createServer((req, res) => {
      asked++;
      answer(req, res);
    }).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    pool = new Pool(`http://127.0.0.1:${(engine.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    await pool.destroy();
    engine.closeAllConnections();
    engine.close();
  });

  const LABELS = { namespace: 'team', deployment: 'chat', pod: 'chat-1' };
  const OWN = 'namespace="team",deployment="chat",pod="chat-1"';
  const read = async (more: object = {}) => {
    const answered = await createEngineMetrics({ pool, path: '/metrics', labels: LABELS, ...more })();
    expect([answered.status, answered.contentType]).to.deep.equal([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    return answered.body.split('\n').filter((line) => !line.startsWith('#'));
  };
  const UP = `berth_engine_up{${OWN}} 1`;
  const DOWN = [`berth_engine_up{${OWN}} 0`, `berth_engine_dropped_lines{${OWN}} 0`];

  it('are relayed under labels of the deployment, beside a word that the engine is up', async () => {
    answer = (_, res) =>
      res.end('vllm:num_requests_running 3\nvllm:ok_total{model_name="m"} 1 1700000000000\n');
    expect(await read()).to.deep.equal([
      UP,
      `berth_engine_dropped_lines{${OWN}} 0`,
      `vllm:num_requests_running{${OWN}} 3`,
      `vllm:ok_total{${OWN},model_name="m"} 1`,
    ]);
  });

  it('are fetched once for concurrent scrapes, and again after that', async () => {
    answer = (_, res) => setTimeout(() => res.end('a 1\n'), 50);
    const relay = createEngineMetrics({ pool, path: '/metrics', labels: LABELS });
    const answers = await Promise.all(Array.from({ length: 100 }, () => relay()));
    expect(new Set(answers.map(({ body }) => body.endsWith('} 1')))).to.deep.equal(new Set([true]));
    expect(asked).to.equal(1);
    await relay();
    expect(asked).to.equal(2);
  });

  it('are nothing once they are too large, without the rest of them', async () => {
    answer = (_, res) => {
      const write = () => res.write('x'.repeat(1024)) && setImmediate(write);
      res.on('drain', write).on('error', () => {});
      write();
    };
    expect(await read({ maxBytes: 10_000 })).to.deep.equal(DOWN);
  });

  it('tell that the engine hangs, also in the middle of an answer', async () => {
    for (const begin of [false, true]) {
      answer = (_, res) => begin && res.write('a 1\n');
      expect(await read({ timeoutMs: 100 })).to.deep.equal(DOWN);
    }
  });

  it('tell that the engine has none, or is unavailable', async () => {
    answer = (_, res) => res.writeHead(404).end('no');
    expect(await read()).to.deep.equal(DOWN);
    const nobody = new Pool('http://127.0.0.1:1');
    expect(await read({ pool: nobody })).to.deep.equal(DOWN);
    await nobody.destroy();
  });
});
