import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys, publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
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
import { TestStack } from '../../support/test-stack.ts';

const ADDRESS = '127.0.0.6';

describe('a sidecar beside an engine', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  const config = { ...describeModel({ engine: { preset: 'simulator', stallTimeout: '35s' } }) };

  before(async () => {
    stack = await TestStack.start();
    await publishDeployment(stack.redis, config);
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishApiKeys(stack.redis, config.namespace, new Map([[hashApiKey(API_KEY), key]]));
  });
  after(async () => {
    await stack?.stop();
  });
  beforeEach(async () => {
    engine = await startEngine();
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
    });
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  });
  afterEach(() => Promise.all([replica?.stop('SIGKILL'), engine?.stop('SIGKILL')]));

  const isReady = async () => (await replica.admin('/readyz')).ok;
  const readPhase = async () => /berth_gateway_engines\{phase="(\w+)"\} 1/.exec(await replica.metrics())?.[1];
  /** Not `until`: something must not happen meanwhile. */
  const during = async (ms: number, check: () => Promise<void>) => {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await check();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  it('that is busy, its health check at 2.5 s, stays ready and serves all requests', async () => {
    await engine.control({ healthDelayMs: 2_500 });
    await during(12_000, async () => {
      expect(await isReady()).to.equal(true);
      expect((await callChat(replica.url)).status).to.equal(200);
    });
  });

  it('that answers no health check in time is busy, and cuts no stream when its pod is drained', async () => {
    await engine.control({ healthDelayMs: 60_000, ttftMs: 50, itlMs: 100, tokens: 200 });
    const stream = await streamChat(replica.url);
    await pollUntil(async () => (await readPhase()) === 'busy', 'busy', 60_000);
    expect(await isReady()).to.equal(true);
    const drained = replica.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } });
    let isDrained = false;
    void drained.then(() => {
      isDrained = true;
    });
    const end = await stream.ended;
    expect(isDrained).to.equal(false);
    expect(end.isWhole).to.equal(true);
    expect((await (await drained).text()).trim()).to.equal('drained');
  });

  it('that hangs while its health is 200 becomes unready, fails its liveness, and is let off by a token', async () => {
    await engine.control({ fault: { kind: 'hang', afterFrames: 0 }, faultTimes: 3 });
    const hung = [1, 2, 3].map(() => callChat(replica.url).catch(() => null));
    await pollUntil(async () => !(await isReady()), 'unready', 90_000);
    const liveness = await replica.admin('/engine/liveness');
    expect(liveness.status).to.equal(503);
    expect(await liveness.text()).to.match(/unhealthy: 3 requests waited 3\d s without any output/);
    expect((await readError(await callChat(replica.url))).code).to.equal('no_pod_available');
    const port = new URL(engine.url).port;
    await engine.stop('SIGKILL');
    await Promise.all(hung);
    engine = await startEngine({ SIMULATOR_PORT: port });
    await pollUntil(async () => (await callChat(replica.url)).status === 200, 'served again');
  });
});
