import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { DRAIN_TOKEN, describeModel, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESS = '127.0.0.6';

describe('a sidecar beside an engine', () => {
  const config = describeModel({ engine: { preset: 'simulator', stallTimeout: '35s' } });
  const { engines, replicas } = useReplicas(config, [ADDRESS], { isPerTest: true });

  const isReady = async () => (await replicas[0]!.admin('/readyz')).ok;
  const readPhase = async () =>
    /berth_gateway_engines\{phase="(\w+)"\} 1/.exec(await replicas[0]!.metrics())?.[1];
  /** Not `until`: something must not happen meanwhile. */
  const during = async (ms: number, check: () => Promise<void>) => {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await check();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  it('that is busy, its health check at 2.5 s, stays ready and serves all requests', async () => {
    await engines[0]!.control({ healthDelayMs: 2_500 });
    await during(12_000, async () => {
      expect(await isReady()).to.equal(true);
      expect((await callChat(replicas[0]!.url)).status).to.equal(200);
    });
  });

  it('that answers no health check in time is busy, and cuts no stream when its pod is drained', async () => {
    await engines[0]!.control({ healthDelayMs: 60_000, ttftMs: 50, itlMs: 100, tokens: 200 });
    const stream = await streamChat(replicas[0]!.url);
    await pollUntil(async () => (await readPhase()) === 'busy', 'busy', 60_000);
    expect(await isReady()).to.equal(true);
    const drained = replicas[0]!.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } });
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
    await engines[0]!.control({ fault: { kind: 'hang', afterFrames: 0 }, faultTimes: 3 });
    const hung = [1, 2, 3].map(() => callChat(replicas[0]!.url).catch(() => null));
    await pollUntil(async () => !(await isReady()), 'unready', 90_000);
    const liveness = await replicas[0]!.admin('/engine/liveness');
    expect(liveness.status).to.equal(503);
    expect(await liveness.text()).to.match(/unhealthy: 3 requests waited 3\d s without any output/);
    expect((await readError(await callChat(replicas[0]!.url))).code).to.equal('no_pod_available');
    const port = new URL(engines[0]!.url).port;
    await engines[0]!.stop('SIGKILL');
    await Promise.all(hung);
    engines[0] = await startEngine({ SIMULATOR_PORT: port });
    await pollUntil(async () => (await callChat(replicas[0]!.url)).status === 200, 'served again');
  });
});
