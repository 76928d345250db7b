import { expect } from 'chai';
import { EngineHealth } from '../../../gateway/health/engine-health.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import { readEvents } from '../../support/named-events.ts';
import { findEventFaults, findResponseFaults } from '../../support/open-responses.ts';
import { pollUntil } from '../../support/poll.ts';
import { startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { chatOf, MODEL, RunningSimulator, readStream } from '../../unit/simulator/running-simulator.ts';

const ASKED: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', chatOf('Hello.')],
  ['/v1/responses', { input: 'Hello.' }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 100 }],
];

describe('an engine that closes its port and keeps what it was given, as llama.cpp does', () => {
  let fixture: TextFixture;
  let simulator: RunningSimulator;
  let health: EngineHealth;
  let endpoint: TextEndpoint;
  const pools = new Pools();
  before(async () => {
    fixture = await startTextFixture();
  });
  beforeEach(async () => {
    simulator = await RunningSimulator.start({ settings: { like: 'llama-cpp', itlMs: 100, tokens: 2_000 } });
    health = new EngineHealth({
      engineURL: simulator.url,
      path: '/health',
      stalledMs: () => 60_000,
      timing: { healthyMs: 50, failingMs: 50, evaluateMs: 20 },
      bounds: { desertedMs: 300 },
    });
    endpoint = await startTextEndpoint({
      connection: fixture.connection,
      engineURL: simulator.url,
      engine: { pool: health.watch(pools.get(simulator.url)) },
      settings: { servedModelName: MODEL, enginePreset: 'llama-cpp' },
    });
    await pollUntil(() => health.isReady, 'ready');
  });
  afterEach(async () => {
    health?.stop();
    await simulator?.stop();
    await endpoint?.stop();
  });
  after(async () => {
    await pools.destroy();
    await fixture?.stop();
  });
  const post = (path: string, body: object) =>
    fetch(`${endpoint.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const stop = () => void simulator.stop(60_000);

  for (const [path, body] of ASKED) {
    it(`has streams of ${path} end with an error soon after it was stopped`, async () => {
      const response = await post(path, { ...body, stream: true });
      stop();
      const text = await response.text();
      expect(text).to.include('The engine stopped before its response was complete.');
      expect(text).to.not.match(/\[DONE\]|response\.completed|message_stop/);
    });

    it(`has whole answers of ${path} end with an error soon after it was stopped`, async () => {
      const asked = post(path, body);
      await pollUntil(async () => (await simulator.readControl()).inflight === 1, 'the request');
      stop();
      expect((await asked).status).to.equal(502);
    });
  }

  it('may close its port while its streams flow on, and ends them itself', async () => {
    await simulator.putControl({ like: null, itlMs: 20, tokens: 60 });
    const response = await post('/v1/chat/completions', chatOf('Hello.', { stream: true }));
    stop();
    await pollUntil(() => health.isLost, 'the closed port to be seen');
    expect((await readStream(response)).isDone).to.equal(true);
  });

  it('has responses that SDKs can read, though its events have no numbers', async () => {
    await simulator.putControl({ itlMs: 0, tokens: 20 });
    const whole = await (await post('/v1/responses', { input: 'Hello.' })).json();
    expect(findResponseFaults(whole)).to.deep.equal([]);
    const streamed = await post('/v1/responses', { input: 'Hello.', stream: true });
    const events = readEvents(Buffer.from(await streamed.arrayBuffer()).toString('latin1'));
    expect(events.flatMap(findEventFaults)).to.deep.equal([]);
    expect(events.at(-1)!.response).to.deep.include({ model: endpoint.config.modelId, status: 'completed' });
  });
});
