import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createEngineMetrics } from '../../../../gateway/sidecar/engine-metrics.ts';

describe("the engine's metrics", () => {
  let engine: Server;
  let answer: RequestListener;
  let asked = 0;
  let url: string;
  beforeEach(async () => {
    asked = 0;
    engine = createServer((req, res) => {
      asked++;
      answer(req, res);
    }).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/metrics`;
  });
  afterEach(() => {
    engine.closeAllConnections();
    engine.close();
  });

  it('are relayed as they are, for Prometheus', async () => {
    answer = (_, res) => res.end('vllm:num_requests_running 3\n');
    expect(await createEngineMetrics({ url })()).to.deep.equal({
      status: 200,
      body: 'vllm:num_requests_running 3',
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
    });
  });

  it('are fetched once for concurrent scrapes, and again after that', async () => {
    answer = (_, res) => setTimeout(() => res.end('a 1\n'), 50);
    const read = createEngineMetrics({ url });
    const answers = await Promise.all(Array.from({ length: 100 }, () => read()));
    expect(new Set(answers.map(({ body }) => body))).to.deep.equal(new Set(['a 1']));
    expect(asked).to.equal(1);
    await read();
    expect(asked).to.equal(2);
  });

  it('are refused once they are too large, without the rest of them', async () => {
    answer = (_, res) => {
      const write = () => res.write('x'.repeat(1024)) && setImmediate(write);
      res.on('drain', write).on('error', () => {});
      write();
    };
    const { status, body } = await createEngineMetrics({ url, maxBytes: 10_000 })();
    expect([status, body]).to.deep.equal([502, "the engine's metrics are larger than 10000 bytes"]);
  });

  it('are not waited for longer than their time, also in the middle of an answer', async () => {
    for (const begin of [false, true]) {
      answer = (_, res) => begin && res.write('a 1\n');
      const { status, body } = await createEngineMetrics({ url, timeoutMs: 100 })();
      expect([status, body]).to.deep.equal([504, 'the engine returned no metrics within 100 ms']);
    }
  });

  it('are reported as missing if the engine has none, or is unavailable', async () => {
    answer = (_, res) => res.writeHead(404).end('no');
    expect((await createEngineMetrics({ url })()).status).to.equal(502);
    const { status } = await createEngineMetrics({ url: 'http://127.0.0.1:1/metrics' })();
    expect(status).to.equal(503);
  });
});
