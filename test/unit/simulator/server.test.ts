import { request } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { chatOf, MODEL, RunningSimulator, readStream } from './running-simulator.ts';

const PATH = '/v1/chat/completions';

describe("the simulator's engine port", () => {
  let simulator: RunningSimulator;
  const start = async (...options: Parameters<typeof RunningSimulator.start>): Promise<void> => {
    simulator = await RunningSimulator.start(...options);
  };
  const get = (path: string): Promise<Response> => fetch(simulator.url + path);
  const refusesNothing = async (): Promise<void> =>
    expect((await get('/health')).status).to.equal(200) && undefined;
  afterEach(() => simulator.stop());

  it('is healthy, lists its model and shows gauges', async () => {
    await start();
    expect((await get('/health')).status).to.equal(200);
    const list = (await (await get('/v1/models')).json()) as { data: { id: string; object: string }[] };
    expect(list.data).to.have.lengthOf(1);
    expect(list.data[0]).to.include({ id: MODEL, object: 'model' });
    await simulator.post(PATH, chatOf('Hello', { max_tokens: 7 }));
    const metrics = await (await get('/metrics')).text();
    expect(metrics).to.contain(`vllm:num_requests_running{model_name="${MODEL}"} 0\n`);
    expect(metrics).to.contain(`vllm:generation_tokens_total{model_name="${MODEL}"} 7\n`);
  });

  it('fails its health check, and only that, with healthy false', async () => {
    await start({ settings: { healthy: false } });
    expect((await get('/health')).status).to.equal(503);
    expect((await simulator.post(PATH, chatOf('Hello'))).status).to.equal(200);
  });

  it('answers its health check and its metrics late, and only these, with a health delay', async () => {
    await start({ settings: { healthDelayMs: 60_000 } });
    let isAnswered = false;
    const checking = new AbortController();
    for (const path of ['/health', '/metrics'])
      void fetch(`${simulator.url}${path}`, { signal: checking.signal }).then(
        () => {
          isAnswered = true;
        },
        () => {},
      );
    expect((await simulator.post(PATH, chatOf('Hello'))).status).to.equal(200);
    expect(isAnswered).to.equal(false);
    checking.abort();
    await simulator.putControl({ healthDelayMs: 1 });
    expect((await get('/health')).status).to.equal(200);
    expect((await get('/metrics')).status).to.equal(200);
  });

  it('answers 503 to everything until it has started', async () => {
    await start({ startupSeconds: 1 });
    expect((await get('/health')).status).to.equal(503);
    expect((await get('/v1/models')).status).to.equal(503);
    const response = await simulator.post(PATH, chatOf('Hello'));
    expect(response.status).to.equal(503);
    expect(((await response.json()) as { error: { message: string } }).error.message).to.equal(
      'Loading model',
    );
    await pollUntil(async () => (await get('/health')).status === 200);
    expect((await simulator.post(PATH, chatOf('Hello'))).status).to.equal(200);
  });

  const routes: [method: string, path: string, status: number][] = [
    ['GET', '/', 404],
    ['POST', '/v1/unknown', 404],
    ['GET', PATH, 405],
    ['DELETE', '/health', 405],
    ['GET', '/control', 404],
  ];
  for (const [method, path, status] of routes)
    it(`answers ${method} ${path} with ${status}`, async () => {
      await start();
      const response = await fetch(simulator.url + path, { method });
      expect(response.status).to.equal(status);
      expect(((await response.json()) as { error: { code: number } }).error.code).to.equal(status);
    });

  it('takes its time to the first token and between tokens', async () => {
    await start({ settings: { ttftMs: 60, itlMs: 10.5, tokens: 5 } });
    const startedAt = performance.now();
    const response = await simulator.post(PATH, chatOf('Hello', { stream: true }));
    // Timers may fire up to a millisecond early.
    expect(performance.now() - startedAt).to.be.above(58);
    await response.text();
    expect(performance.now() - startedAt).to.be.above(58 + 4 * 10.5);
    const next = performance.now();
    await (await simulator.post(PATH, chatOf('Hello'))).text();
    expect(performance.now() - next).to.be.above(58 + 4 * 10.5);
  });

  it('works on maxConcurrency calls at once and queues the others in order', async () => {
    await start({ settings: { maxConcurrency: 1, fault: { kind: 'hang', afterFrames: 0 } } });
    const leaving = new AbortController();
    const hung = simulator.post(PATH, chatOf('first'), { signal: leaving.signal }).catch(() => 'left');
    await pollUntil(async () => (await simulator.readControl()).requests === 1);
    const done: string[] = [];
    const queued = ['second', 'third'].map(async (name, index) => {
      await pollUntil(async () => (await simulator.readControl()).requests === index + 1);
      await (await simulator.post(PATH, chatOf(name))).text();
      done.push(name);
    });
    await pollUntil(async () =>
      (await get('/metrics').then((one) => one.text())).includes('waiting{model_name="berth/test-model"} 2'),
    );
    expect((await simulator.readControl()).inflight).to.equal(3);
    expect(done).to.deep.equal([]);
    leaving.abort();
    await Promise.all([hung, ...queued]);
    expect(done).to.deep.equal(['second', 'third']);
  });

  it('starts those that wait when maxConcurrency is lifted', async () => {
    await start({ settings: { maxConcurrency: 1, fault: { kind: 'hang', afterFrames: 0 } } });
    const leaving = new AbortController();
    const hung = simulator.post(PATH, chatOf('first'), { signal: leaving.signal }).catch(() => {});
    await pollUntil(async () => (await simulator.readControl()).requests === 1);
    const queued = simulator.post(PATH, chatOf('second'));
    await pollUntil(async () => (await simulator.readControl()).requests === 2);
    await simulator.putControl({ maxConcurrency: null });
    expect((await queued).status).to.equal(200);
    leaving.abort();
    await hung;
  });

  const departures: [why: string, settings: object, body: object][] = [
    ['before the first token', { ttftMs: 60_000 }, chatOf('x', { stream: true })],
    ['between tokens', { itlMs: 60_000 }, chatOf('x', { stream: true })],
    ['before an answer', { ttftMs: 60_000 }, chatOf('x')],
  ];
  for (const [why, settings, body] of departures)
    it(`gives up the work when the client leaves ${why}`, async () => {
      await start({ settings: { maxConcurrency: 1, ...settings } });
      const leaving = new AbortController();
      const answer = simulator.post(PATH, body, { signal: leaving.signal });
      await pollUntil(async () => (await simulator.readControl()).inflight === 1);
      leaving.abort();
      await answer.then((response) => response.text()).catch(() => {});
      await pollUntil(async () => (await simulator.readControl()).aborted === 1);
      await simulator.putControl({ ttftMs: 0, itlMs: 0 });
      expect((await simulator.post(PATH, chatOf('next'))).status).to.equal(200);
    });

  it('takes a client that leaves the queue out of it', async () => {
    await start({ settings: { maxConcurrency: 1, ttftMs: 60_000 } });
    const leaving = new AbortController();
    const both = [1, 2].map(() =>
      simulator.post(PATH, chatOf('x'), { signal: leaving.signal }).catch(() => {}),
    );
    await pollUntil(async () => (await simulator.readControl()).requests === 2);
    leaving.abort();
    await Promise.all(both);
    await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    expect((await simulator.readControl()).aborted).to.equal(2);
    await simulator.putControl({ ttftMs: 0 });
    expect((await simulator.post(PATH, chatOf('next'))).status).to.equal(200);
  });

  it('keeps the gauge of calls in flight over a reset', async () => {
    await start({ settings: { ttftMs: 60_000 } });
    const leaving = new AbortController();
    const answer = simulator.post(PATH, chatOf('x'), { signal: leaving.signal }).catch(() => {});
    await pollUntil(async () => (await simulator.readControl()).requests === 1);
    await simulator.reset();
    expect(await simulator.readControl()).to.include({ inflight: 1, requests: 0 });
    leaving.abort();
    await answer;
    await pollUntil(async () => (await simulator.readControl()).inflight === 0);
  });

  it('waits for a client that reads slowly', async () => {
    await start();
    const body = JSON.stringify(chatOf('x', { stream: true, ignore_eos: true, max_tokens: 20_000 }));
    const text = await new Promise<string>((resolve, reject) => {
      const call = request(simulator.url + PATH, { method: 'POST' }, (response) => {
        setTimeout(async () => resolve(Buffer.concat(await response.toArray()).toString()), 200);
      });
      call.on('error', reject);
      call.end(body);
    });
    const { events, isDone } = await readStream(new Response(text));
    expect(isDone).to.equal(true);
    expect(events).to.have.lengthOf(20_002);
  });

  it('makes no more than memory allows, however much is asked for', async () => {
    await start();
    const huge = {
      ignore_eos: true,
      max_tokens: 100_000,
      n: 128,
      logprobs: true,
      top_logprobs: 20,
    };
    const response = await simulator.post(PATH, chatOf('x', huge));
    expect(response.status).to.equal(200);
    const { usage } = (await response.json()) as { usage: { completion_tokens: number } };
    expect(usage.completion_tokens).to.be.within(10_000, 20_000);
  });

  it('refuses a body beyond the limit', async () => {
    await start();
    const status = await new Promise((resolve, reject) => {
      const call = request(simulator.url + PATH, { method: 'POST' }, (response) =>
        resolve(response.statusCode),
      );
      call.on('error', reject);
      for (let megabyte = 0; megabyte <= 64; megabyte++) call.write(Buffer.alloc(1024 * 1024, 32));
      call.end('{}');
    });
    expect(status).to.equal(413);
  });

  const hostile: [why: string, bytes: string | Buffer][] = [
    ['no HTTP at all', '\u0000\u0001 nonsense\r\n\r\n'],
    ['a body cut off', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"mess`],
    ['bad chunks', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`],
    ['an odd target', 'GET constructor HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['huge headers', `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`],
  ];
  for (const [why, bytes] of hostile)
    it(`survives ${why}`, async () => {
      await start();
      const { hostname, port } = new URL(simulator.url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.end(bytes);
      await new Promise((resolve) => socket.on('close', resolve).resume());
      await refusesNothing();
      await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    });

  const odd: [why: string, body: string | Buffer, status: number][] = [
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
    ['deeply nested JSON', `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    [
      'deeply nested tools',
      `{"messages":[{"role":"user","content":"x"}],"tools":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`,
      400,
    ],
    ['a prototype', '{"__proto__":{"model":"x"},"messages":[{"role":"user","content":"x"}]}', 200],
    ['nothing', '', 400],
  ];
  for (const [why, body, status] of odd)
    it(`answers a body of ${why} with ${status}`, async () => {
      await start();
      const response = await fetch(simulator.url + PATH, { method: 'POST', body: body as string });
      expect(response.status).to.equal(status);
      expect((await simulator.readControl()).requests).to.equal(1);
      await refusesNothing();
    });
});
