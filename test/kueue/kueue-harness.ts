/** What the tests share: Kueue, a node with one GPU, an operator for each test, and a front. */
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { makeSettings } from '../integration/operator/operator-settings.ts';
import { useHarness } from '../integration-cluster/operator/operator-harness.ts';
import { findFreePort } from '../support/child-program.ts';
import { type FrontProcess, MASTER_KEY, startFrontProcess } from '../support/front-process.ts';
import { type KueueProcess, startKueue } from './kueue-process.ts';
import { type PlayedNode, startPlayedNode } from './played-node.ts';
import { QueuedDeployments } from './queued-deployments.ts';

export interface KueueHarness {
  readonly queued: QueuedDeployments;
  readonly node: PlayedNode;
}

/** Starts all of it before the tests of a `describe`. `settings`: replace Kueue's of the same names. */
export function useKueue(settings?: object): KueueHarness {
  const harness = useHarness();
  let kueue: KueueProcess;
  let node: PlayedNode;
  let front: FrontProcess;
  let queued: QueuedDeployments;
  before(async () => {
    const { controlPlane } = harness.api;
    kueue = await startKueue(controlPlane, settings);
    node = await startPlayedNode(controlPlane, harness.api.connect(), 1);
    front = await startFrontProcess({
      redisURL: harness.server.url,
      replicaPort: await findFreePort(),
      env: { [GATEWAY_ENV.podName]: 'front-1' },
    });
    queued = new QueuedDeployments(harness.cluster, front);
    await queued.createKey();
  });
  after(async () => {
    await front?.stop('SIGKILL');
    await node?.close();
    await kueue?.close();
  });
  beforeEach(() => {
    harness.startOperator({ settings: makeSettings({ masterKey: MASTER_KEY }) });
  });
  afterEach(function () {
    if (this.currentTest?.state !== 'failed') return;
    console.error(kueue.readLog(), node.readLogs(), front.program.output.slice(-3_000));
  });
  return {
    get queued() {
      return queued;
    },
    get node() {
      return node;
    },
  };
}
