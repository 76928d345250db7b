import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { DRAIN_TOKEN, describeModel, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { type ReplicaStack, useReplicas } from '../../support/replica-stack.ts';
import { runSideBySide } from '../../support/side-by-side.ts';

describe('a sidecar beside an engine', function () {
  this.timeout(180_000);
  const config = describeModel({ engine: { preset: 'simulator', stallTimeout: '35s' } });
  const use = (address: string) => useReplicas(config, [address]);
  const [slow, silent, hung] = [use('127.0.0.6'), use('127.0.0.61'), use('127.0.0.62')];
  const itBeside = runSideBySide();

  const isReady = async ({ replicas }: ReplicaStack) => (await replicas[0]!.admin('/readyz')).ok;
  const readPhase = async ({ replicas }: ReplicaStack) =>
    /berth_gateway_engines\{phase="(\w+)"\} 1/.exec(await replicas[0]!.metrics())?.[1];
  /** Not `until`: something must not happen meanwhile. */
  const during = async (ms: number, check: () => Promise<void>) => {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await check();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  itBeside('that is busy, its health check at 2.5 s, stays ready and serves all requests', async () => {
    await slow.control({ healthDelayMs: 2_500 });
    await during(12_000, async () => {
      expect(await isReady(slow)).to.equal(true);
      expect((await callChat(slow.replicas[0]!.url)).status).to.equal(200);
    });
  });

  itBeside(
    'that answers no health check in time is busy, and cuts no stream when its pod is drained',
    async () => {
      await silent.control({ healthDelayMs: 60_000, ttftMs: 50, itlMs: 100, tokens: 200 });
      const stream = await streamChat(silent.replicas[0]!.url);
      await pollUntil(async () => (await readPhase(silent)) === 'busy', 'busy');
      expect(await isReady(silent)).to.equal(true);
      const drained = silent.replicas[0]!.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } });
      let isDrained = false;
      void drained.then(() => {
        isDrained = true;
      });
      const end = await stream.ended;
      expect(isDrained).to.equal(false);
      expect(end.isWhole).to.equal(true);
      expect((await (await drained).text()).trim()).to.equal('drained');
    },
  );

  itBeside(
    'that hangs while its health is 200 becomes unready, fails its liveness, and is let off by a token',
    async () => {
      await hung.control({ fault: { kind: 'hang', afterFrames: 0 }, faultTimes: 3 });
      const calls = [1, 2, 3].map(() => callChat(hung.replicas[0]!.url).catch(() => null));
      await pollUntil(async () => !(await isReady(hung)), 'unready', 90_000);
      const liveness = await hung.replicas[0]!.admin('/engine/liveness');
      expect(liveness.status).to.equal(503);
      expect(await liveness.text()).to.match(/unhealthy: 3 requests waited 3\d s without any output/);
      expect((await readError(await callChat(hung.replicas[0]!.url))).code).to.equal('no_pod_available');
      const port = new URL(hung.engines[0]!.url).port;
      await hung.engines[0]!.stop('SIGKILL');
      await Promise.all(calls);
      hung.engines[0] = await startEngine({ SIMULATOR_PORT: port });
      await pollUntil(async () => (await callChat(hung.replicas[0]!.url)).status === 200, 'served again');
    },
  );
});
