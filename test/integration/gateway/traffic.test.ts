import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { hashApiKey, hopToken } from '../../../api/identity.ts';
import { BusyTime } from '../../../gateway/capacity/busy-time.ts';
import { createPeerRoutes } from '../../../gateway/capacity/peer-routes.ts';
import { Slots } from '../../../gateway/capacity/replica-capacity.ts';
import { Reservations } from '../../../gateway/capacity/reservations.ts';
import { Traffic } from '../../../gateway/traffic/traffic.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import { closeServer, listen } from '../../../kit/http-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { RunningSimulator } from '../../unit/simulator/running-simulator.ts';

const WORKSPACE_TOKEN = 'of-the-workspace';
const VERSION = 'x-berth-version';

describe('a deployment whose conversations another version shares', () => {
  let fixture: TextFixture;
  let traffic: Traffic;
  /** The engine of v2, and what its gateway shows to other deployments. */
  let engine: RunningSimulator;
  let gateway: Server;
  let pools: Pools;
  let slots: Slots;
  let limit: number | null;
  const busy = new BusyTime();
  let isOpen: boolean;
  /** Whether v2 knows that the deployment names it. */
  let isNamed: boolean;
  let addresses: string[];
  /** Where v2's gateway finds its engine. */
  let engineURL: string;

  before(async () => {
    engine = await RunningSimulator.start();
    pools = new Pools();
    slots = new Slots(() => limit);
    const routes = createPeerRoutes({
      token: 'of-the-replicas-of-v2',
      hops: {
        token: hopToken(WORKSPACE_TOKEN, 'v2'),
        listPaths: () => (isNamed ? ['/v1/chat/completions'] : null),
      },
      reservations: new Reservations(slots, 60_000),
      get enginePool() {
        return pools.get(engineURL);
      },
      isOpen: () => isOpen,
      isOpenToHops: () => isOpen,
      balance: { observe: () => {}, hasShare: () => true, inflight: 0 },
      onEngineLost: () => {},
    });
    gateway = createServer((req, res) => {
      if (!routes(req, res)) res.writeHead(404).end();
    });
    const port = await listen(gateway, 0);
    traffic = new Traffic({
      config: () => fixture.endpoint.config,
      token: (deployment) => hopToken(WORKSPACE_TOKEN, deployment),
      readReplicas: async () => addresses,
      port,
      onResend: () => {},
      busy,
      // A busy machine must not decide who answers.
      timeoutMs: 60_000,
    });
    fixture = await startTextFixture({ traffic });
  });
  after(async () => {
    await fixture?.stop();
    await traffic?.close();
    await pools?.destroy();
    if (gateway) await closeServer(gateway, 0);
    await engine?.stop();
  });
  beforeEach(() => {
    limit = null;
    isOpen = true;
    isNamed = true;
    // Two of its replicas, as far as others can tell.
    addresses = ['127.0.0.1', '127.0.0.2'];
    engineURL = engine.url;
    setWeight(100);
  });

  const setWeight = (weight: number | null) => {
    const { config } = fixture.endpoint;
    if (weight === null) delete config.traffic;
    else config.traffic = [{ deployment: 'v2', weight }];
  };
  const ask = (content: string, body: object = {}) =>
    fixture.chat({ messages: [{ role: 'user', content }], ...body });
  const versionOf = async (content: string, body: object = {}) => {
    const response = await ask(content, body);
    expect(response.status).to.equal(200);
    await response.text();
    return response.headers.get(VERSION);
  };
  const own = () => fixture.endpoint.config.name;

  it('names no version, and sends nothing there, without traffic', async () => {
    setWeight(null);
    const { requests } = await engine.readControl();
    expect(await versionOf('Hi')).to.equal(null);
    expect((await engine.readControl()).requests).to.equal(requests);
  });

  it('answers at the version that a conversation belongs to, whole or streamed', async () => {
    for (const stream of [false, true]) expect(await versionOf('Hi', { stream })).to.equal('v2');
    setWeight(0);
    for (const stream of [false, true]) expect(await versionOf('Hi', { stream })).to.equal(own());
  });

  it('keeps each conversation at its version', async () => {
    setWeight(50);
    const answered: (string | null)[] = [];
    for (let index = 0; index < 20; index++) answered.push(await versionOf(`Conversation ${index}`));
    expect(new Set(answered)).to.deep.equal(new Set(['v2', own()]));
    for (let index = 0; index < 20; index++) {
      const later = [
        { role: 'user', content: `Conversation ${index}` },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Go on.' },
      ];
      expect(await versionOf('', { messages: later })).to.equal(answered[index]);
    }
  });

  it('tells the version in the receipt of a stream', async () => {
    const response = await fetch(`${fixture.endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${fixture.key}`,
        'content-type': 'application/json',
        'x-berth-receipt': 'true',
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true }),
    });
    expect(await response.text()).to.match(/: receipt \{"cost":"0","tokens":\d+,"version":"v2"\}/);
  });

  it('names the version in errors: its own where it refuses, the other’s where that engine fails', async () => {
    const invalid = await ask('Hi', { temperature: 'hot' });
    expect([invalid.status, invalid.headers.get(VERSION)]).to.deep.equal([400, own()]);
    for (const stream of [false, true]) {
      await engine.putControl({ fault: { kind: 'status', status: 500 } });
      const failed = await ask('Hi', { stream });
      expect([failed.status, failed.headers.get(VERSION)]).to.deep.equal([502, 'v2']);
    }
    // Only what reached an engine counts.
    const text = await fixture.endpoint.metrics.render();
    expect(text).to.match(/version_requests_total\{version="v2",code="502"\} 2/);
    expect(text).not.to.match(/version_requests_total\{[^}]*code="400"/);
    // They say nothing of this deployment's own engine.
    expect((await fixture.endpoint.metrics.engineErrors.get()).values).to.deep.equal([]);
  });

  it('answers here while the version is full, not ready, or has no replica', async () => {
    limit = 0;
    expect(await versionOf('Hi')).to.equal(own());
    limit = null;
    isOpen = false;
    expect(await versionOf('Hi')).to.equal(own());
    isOpen = true;
    addresses = [];
    await pollUntil(async () => (await versionOf('Hi')) === own(), 'the addresses to be read again');
  });

  it('answers here when the version’s engine takes no connections', async () => {
    await pollUntil(async () => (await versionOf('Hi')) === 'v2', 'the addresses to be read again');
    engineURL = 'http://127.0.0.1:1';
    for (const stream of [false, true]) expect(await versionOf('Hi', { stream })).to.equal(own());
  });

  it('counts no error of its engines where it has no slot after a version is lost', async () => {
    engineURL = 'http://127.0.0.1:1';
    const before = await fixture.endpoint.metrics.engineErrors.get();
    fixture.endpoint.config.concurrency = 0;
    const response = await ask('Hi');
    fixture.endpoint.config.concurrency = null;
    expect(response.status).to.be.oneOf([429, 503]);
    expect((await fixture.endpoint.metrics.engineErrors.get()).values).to.deep.equal(before.values);
  });

  it('continues a broken stream at another replica of its version, not here', async () => {
    const { config } = fixture.endpoint;
    config.continueStreams = true;
    await fixture.simulator.reset();
    await engine.putControl({ fault: { kind: 'drop', afterFrames: 3 } });
    const response = await ask('Tell me a long story, please.', { stream: true });
    delete config.continueStreams;
    expect(response.headers.get(VERSION)).to.equal('v2');
    expect(await response.text()).to.match(/\[DONE\]\s*$/);
    expect((await fixture.simulator.readControl()).requests).to.equal(0);
    const { values } = await fixture.endpoint.metrics.continuedStreams.get();
    expect(values.map(({ labels }) => labels.outcome)).to.deep.equal(['completed']);
  });

  it('takes a slot of the version’s engine, and gives it back', async () => {
    limit = 1;
    await engine.putControl({ itlMs: 50 });
    const long = await ask('Hi', { stream: true, max_tokens: 200 });
    expect(long.headers.get(VERSION)).to.equal('v2');
    expect(slots.inflight).to.equal(1);
    // It does not scale to zero meanwhile.
    const { activeAt } = busy.read();
    await pollUntil(() => busy.read().activeAt > activeAt, 'it to be active still');
    expect(await versionOf('Hi')).to.equal(own());
    await long.body!.cancel();
    await pollUntil(() => slots.inflight === 0, 'the slot to be free');
    await engine.putControl({ itlMs: 0 });
    expect(await versionOf('Hi')).to.equal('v2');
  });

  it('answers lines of batches here, whose slot they have', async () => {
    const { requests } = await engine.readControl();
    const line = await fixture.endpoint.lines.run({
      path: '/v1/chat/completions',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
      sha256: hashApiKey(fixture.key),
      signal: AbortSignal.timeout(60_000),
    });
    expect(line.status).to.equal(200);
    expect((await engine.readControl()).requests).to.equal(requests);
  });

  const send = (path: string, token: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${(gateway.address() as AddressInfo).port}${path}`, {
      method: 'POST',
      headers: { 'x-berth-peer-token': token, ...headers },
    });

  it('lends no slot to whoever lacks the token, nor with it while no deployment names the version', async () => {
    for (const token of ['', 'of-the-workspace', hopToken(WORKSPACE_TOKEN, 'v3')])
      expect((await send('/internal/reservations', token)).status).to.equal(404);
    isNamed = false;
    expect((await send('/internal/reservations', hopToken(WORKSPACE_TOKEN, 'v2'))).status).to.equal(404);
    expect(await versionOf('Hi')).to.equal(own());
  });

  it('releases a slot once the connection that asked for it is closed', async () => {
    const before = slots.inflight;
    const { port } = gateway.address() as AddressInfo;
    const request = httpRequest({
      port,
      path: '/internal/reservations',
      method: 'POST',
      headers: { 'x-berth-peer-token': hopToken(WORKSPACE_TOKEN, 'v2') },
    });
    const [response] = await once(request.end(), 'response');
    expect([response.statusCode, slots.inflight]).to.deep.equal([201, before + 1]);
    request.destroy();
    await pollUntil(() => slots.inflight === before, 'the slot to be free');
  });

  it('sends requests of other deployments only to routes of the endpoint, not to the rest of the engine', async () => {
    const token = hopToken(WORKSPACE_TOKEN, 'v2');
    for (const path of [
      '/sleep',
      '/v1/unload_lora_adapter',
      '/v1/chat/completions/../../sleep',
      '/v1/models',
    ]) {
      const reserved = await send('/internal/reservations', token);
      const headers = { 'x-berth-reservation': reserved.headers.get('x-berth-reservation')! };
      expect((await send(`/internal/engine${path}`, token, headers)).status).to.equal(404);
    }
  });
});
