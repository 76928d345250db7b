import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { findFreePort, startProgram } from '../../support/child-program.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import {
  API_KEY,
  DRAIN_TOKEN,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishModel } from '../../support/replica-stack.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESS = '127.0.0.5';
const PEER_ADDRESS = '127.0.0.7';
const SLOW = { ttftMs: 50, itlMs: 40, tokens: 50 };

describe('a sidecar', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  const config = describeModel();
  const { namespace, name } = config;

  before(async () => {
    stack = await TestStack.start({ isStrict: true });
    engine = await startEngine();
  });
  after(async () => {
    await engine?.stop('SIGKILL');
    await stack?.stop();
  });
  beforeEach(async () => {
    await stack.connection.untilUp(60_000);
    // What the previous test left: the heartbeat of its replica, and what it published.
    await stack.redis.flushall();
    await publishModel(stack.redis, config);
    if (engine.program.ended === null) await engine.reset();
    else engine = await startEngine();
    replica = await start();
    await pollUntil(async () => (await readOwnBeat())?.ready === true, 'ready');
  });
  afterEach(() => replica?.stop('SIGKILL'));

  const start = async (
    settings: { redisURL?: string; engineURL?: string; env?: Record<string, string> } = {},
  ) =>
    startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
      ...settings,
    });
  const readOwnBeat = async () => (await readHeartbeats(stack.redis, namespace, name))[0];
  const drain = (token = DRAIN_TOKEN, method = 'GET') =>
    replica.admin('/drain', { method, headers: { [DRAIN_TOKEN_HEADER]: token } });

  it('takes changes of its configuration without a restart', async () => {
    const publish = (changes: object) => publishDeployment(stack.redis, { ...config, ...changes });
    const readModel = async () => {
      const response = await fetch(`${replica.url}/models`, {
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      const { data } = (await response.json()) as { data: { id: string; display_name: string }[] };
      return data[0]!;
    };
    const begun = performance.now();
    await publish({ modelId: 'berth/other', displayName: 'Other' });
    await pollUntil(async () => (await readModel()).id === 'berth/other', 'the new model id');
    expect((await readModel()).display_name).to.equal('Other');

    await publish({ limits: { ...config.limits, jsonBodyBytes: 10 } });
    await pollUntil(async () => (await callChat(replica.url)).status === 413, 'the new limit');

    await publish({ paused: true });
    await pollUntil(async () => (await callChat(replica.url)).status === 503, 'the pause');
    await publish({ paused: false });
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'the end of the pause');
    // Polls are 30 s apart: it was told.
    expect(performance.now() - begun).to.be.below(14_000);

    await engine.control({ ...SLOW, tokens: 100 });
    await publish({ concurrency: 1 });
    await pollUntil(
      async () => (await readHeartbeats(stack.redis, namespace, name))[0]?.limit === 1,
      'the limit',
    );
    const held = await streamChat(replica.url);
    expect((await readError(await callChat(replica.url))).code).to.equal('replica_saturated');
    await publish({ concurrency: 2 });
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'the second slot');
    expect((await held.ended).isWhole).to.equal(true);
  });

  it('listens and sends over one connection to Redis', async () => {
    const clients = String(await stack.redis.client('LIST')).split('\n');
    expect(clients.filter((client) => client.includes('name=berth-sidecar:'))).to.have.length(1);
  });

  it('survives a restart of Redis, and notices then what it was not told', async () => {
    const changed = { ...config, displayName: 'Silent' };
    await stack.redis.hset(`c:{${namespace}}:deployments`, name, JSON.stringify(changed));
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    const readName = async () => {
      const response = await fetch(`${replica.url}/models`, {
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      return (
        response.ok && ((await response.json()) as { data: { display_name: string }[] }).data[0]!.display_name
      );
    };
    // Sooner than by a poll.
    await pollUntil(async () => (await readName()) === 'Silent', 'the change', 20_000);
    await pollUntil(
      async () => (await readHeartbeats(stack.redis, namespace, name)).length === 1,
      'heartbeats',
    );
  });

  it('starts while Redis and the engine are away, and serves when they have come', async () => {
    await stack.server.kill();
    await replica.stop();
    const port = await findFreePort();
    replica = await start({ engineURL: `http://127.0.0.1:${port}` });
    expect((await replica.admin('/startup')).status).to.equal(200);
    expect((await replica.admin('/engine/liveness')).status).to.equal(200);
    expect((await replica.admin('/readyz')).status).to.equal(503);
    expect((await replica.admin('/engine/startup')).status).to.equal(503);
    expect((await readError(await callChat(replica.url))).status).to.equal(503);

    await engine.stop();
    engine = await startEngine({ SIMULATOR_PORT: String(port) });
    await pollUntil(async () => (await replica.admin('/engine/startup')).ok, 'started');
    await stack.server.restart();
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'served');
  });

  it('answers no_pod_available while its engine is away, and notices that at once', async () => {
    const port = new URL(engine.url).port;
    await engine.stop();
    const first = await readError(await callChat(replica.url));
    expect(first.status).to.be.oneOf([502, 503]);
    await pollUntil(async () => (await callChat(replica.url)).status === 503, 'no pod');
    const refused = await callChat(replica.url);
    // A kept-alive connection would stay here, where the Service leads new ones to the front.
    expect(refused.headers.get('connection')).to.equal('close');
    expect((await readError(refused)).code).to.equal('no_pod_available');
    engine = await startEngine({ SIMULATOR_PORT: port });
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'served again');
    expect((await callChat(replica.url)).headers.get('connection')).to.equal('keep-alive');
  });

  it('drains: the stream survives, the hook answers after it, readiness stays', async () => {
    await engine.control({ ttftMs: 50, itlMs: 100, tokens: 80 });
    const stream = await streamChat(replica.url);
    let isDrained = false;
    const hook = drain().then(async (response) => {
      isDrained = true;
      return response.text();
    });
    await pollUntil(async () => (await readOwnBeat())?.draining === true, 'the word to the peers');
    const during = await callChat(replica.url, { body: { max_tokens: 1 } });
    expect(during.status).to.equal(200);
    expect(during.headers.get('connection')).to.equal('close');
    expect((await replica.admin('/readyz')).status).to.equal(200);
    const { isWhole } = await stream.ended;
    expect(isWhole).to.equal(true);
    expect(isDrained).to.equal(false);
    expect((await hook).trim()).to.equal('drained');
  });

  it('refuses a drain with a wrong token, and counts it', async () => {
    expect((await drain('guess')).status).to.equal(403);
    expect((await replica.admin('/drain')).status).to.equal(403);
    await replica.program.waitFor(/wrong token/);
    expect(await replica.metrics()).to.match(/^berth_gateway_refused_drains_total(\{[^}]*\})? 2$/m);
    expect((await readOwnBeat())!.draining).to.equal(false);
  });

  it('returns from a drain at once when the engine is gone, and serves again once it is restarted', async () => {
    const port = new URL(engine.url).port;
    await engine.stop('SIGKILL');
    await pollUntil(async () => (await replica.admin('/readyz')).status === 503, 'unready');
    const begun = performance.now();
    expect((await (await drain(DRAIN_TOKEN, 'POST')).text()).trim()).to.equal('lost');
    expect(performance.now() - begun).to.be.lessThan(5_000);
    engine = await startEngine({ SIMULATOR_PORT: port });
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'served again');
    await pollUntil(async () => (await readOwnBeat())?.draining === false, 'the end of the drain');
  });

  it('on SIGTERM lets a stream end, leaves the registry at once and exits 0', async () => {
    await engine.control({ ...SLOW, tokens: 200 });
    const stream = await streamChat(replica.url);
    let isEnded = false;
    void stream.ended.then(() => {
      isEnded = true;
    });
    await pollUntil(() => stream.frames() > 0, 'the stream');
    const stopped = replica.stop('SIGTERM');
    const countReplicas = async () => (await readHeartbeats(stack.redis, namespace, name)).length;
    await pollUntil(async () => (await countReplicas()) === 0, 'leaving');
    expect(isEnded).to.equal(false);
    expect((await stream.ended).isWhole).to.equal(true);
    await stopped;
    expect(replica.program.ended).to.equal(0);
    expect(await countReplicas()).to.equal(0);
  });

  it('on SIGTERM while the drain is waited for answers in the envelope, before the kill that is to follow', async () => {
    await engine.control({ ttftMs: 60_000, itlMs: 40, tokens: 50 });
    const silent = callChat(replica.url);
    await engine.control({ ttftMs: 10, itlMs: 500, tokens: 500 });
    const stream = await streamChat(replica.url);
    await pollUntil(() => stream.frames() > 0, 'the stream');
    const hook = drain().catch(() => {});
    await pollUntil(async () => (await readOwnBeat())?.draining === true, 'the drain', 5_000);
    const stopped = replica.stop('SIGTERM');
    const answer = await silent;
    expect(answer.headers.get('retry-after')).to.equal('2');
    expect(answer.headers.get('connection')).to.equal('close');
    expect(await readError(answer)).to.include({ status: 503, code: 'no_pod_available' });
    const { text, isWhole } = await stream.ended;
    expect(isWhole).to.equal(false);
    expect(text).to.match(/data: \{"error":.*"code":"no_pod_available".*\}\s*$/);
    await stopped;
    expect(replica.program.ended).to.equal(0);
    await hook;
  });

  it('on SIGTERM after a drain that its lost engine ended still serves through its peers, streams to their end', async () => {
    const peerEngine = await startEngine({});
    const peer = await startReplica({
      redisURL: stack.server.url,
      engineURL: peerEngine.url,
      config,
      address: PEER_ADDRESS,
      port: Number(new URL(replica.origin).port),
    });
    try {
      await engine.stop('SIGKILL');
      await pollUntil(async () => (await replica.admin('/readyz')).status === 503, 'unready');
      await pollUntil(async () => (await callChat(replica.url)).status === 200, 'served by the peer');
      expect((await (await drain()).text()).trim()).to.equal('lost');
      await peerEngine.control({ ...SLOW, tokens: 200 });
      const stream = await streamChat(replica.url);
      await pollUntil(() => stream.frames() > 0, 'the stream');
      const stopped = replica.stop('SIGTERM');
      const countReplicas = async () => (await readHeartbeats(stack.redis, namespace, name)).length;
      await pollUntil(async () => (await countReplicas()) === 1, 'leaving');
      // The Service may lead here for a moment longer.
      expect((await callChat(replica.url, { body: { max_tokens: 1 } })).status).to.equal(200);
      expect((await stream.ended).isWhole).to.equal(true);
      await stopped;
      expect(replica.program.ended).to.equal(0);
    } finally {
      await Promise.all([peer.stop('SIGKILL'), peerEngine.stop('SIGKILL')]);
    }
  });
});

describe('a sidecar that never served', () => {
  it('exits on a SIGTERM that comes before it has started', async () => {
    const program = startProgram('gateway/main.ts', { GATEWAY_ROLE: 'sidecar' });
    program.process.kill('SIGTERM');
    await pollUntil(() => program.ended !== null, 'the end');
  });

  it('says what is wrong with its environment', async () => {
    const program = startProgram('gateway/main.ts', { GATEWAY_ROLE: 'sidecar', GATEWAY_REDIS_URL: '' });
    await pollUntil(() => program.ended !== null, 'the end');
    expect(program.ended).to.equal(1);
    expect(program.output).to.match(/^GATEWAY_REDIS_URL must be set$/m);
    expect(program.output).to.match(/^GATEWAY_ENGINE_URL must be set$/m);
  });
});
