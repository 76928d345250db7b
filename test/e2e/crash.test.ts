import { expect } from 'chai';
import { APIError } from 'openai';
import { LABELS } from '../../api/names.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { killContainer, readContainer, waitForRestart } from './containers.ts';
import { postChat } from './envelope.ts';
import {
  connect,
  deploySimulator,
  hasCondition,
  isPodReady,
  listModelPods,
  patchModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';

describe('a crash', function () {
  this.timeout(600_000);
  const name = 'fragile';
  const selector = `${LABELS.deployment}=${name}`;
  let endpoint: EndpointEntry;
  before(async () => {
    endpoint = await deploySimulator(name, { env: { SIMULATOR_TOKENS: '400', SIMULATOR_ITL_MS: '25' } });
    await waitForModel(name);
  });
  after(() => removeModel(name));

  it('of the gateway, three times with -9, restarts no engine', async () => {
    for (const restarts of [1, 2, 3]) {
      const [pod] = await listModelPods(name);
      await killContainer(pod!, 'gateway');
      // The kubelet waits longer before each restart.
      await waitForRestart(selector, { container: 'gateway', restarts, seconds: 90 });
    }
    const [pod] = await listModelPods(name);
    expect(readContainer(pod!, 'engine').restartCount).to.equal(0);
  });

  it('of the engine in mid-stream ends the stream with the error event, never in silence', async () => {
    // The front, which stood in for the gateway, goes a moment later than that is ready.
    await waitUntil('an answer', 60, async () => (await postChat(endpoint)).status === 200);
    const [pod] = await listModelPods(name);
    const stream = await connect(endpoint).chat.completions.create({
      model: endpoint.modelId,
      messages: [{ role: 'user', content: 'Tell me all about harbours.' }],
      stream: true,
    });
    let chunks = 0;
    let reason: string | null = null;
    let failure: unknown;
    try {
      for await (const chunk of stream) {
        if (++chunks === 10) await killContainer(pod!, 'engine');
        reason = chunk.choices[0]?.finish_reason ?? reason;
      }
    } catch (error) {
      failure = error;
    }
    expect(chunks).to.be.within(10, 399);
    expect(reason).to.equal(null);
    expect(failure).to.be.instanceOf(APIError);
    expect((failure as APIError).code).to.equal('upstream_error');
  });

  it('of the engine is got over', async () => {
    await waitForRestart(selector, { container: 'engine', restarts: 1, seconds: 120 });
    await waitForModel(name);
    expect((await postChat(endpoint)).status).to.equal(200);
  });
});

describe('a replica that is no longer wanted while its containers start', function () {
  this.timeout(600_000);
  const name = 'short-lived';
  before(async () => {
    // Where the kubelet misses the shorter time, a pod uses all that it was given first.
    await deploySimulator(name, { rollout: { drainTimeout: '30s' } });
    await waitForModel(name);
  });
  after(() => removeModel(name));

  it('is left little time to end, and is gone within its grace period', async () => {
    for (let times = 0; times < 2; times++) {
      await patchModel(name, { replicas: 2 });
      await waitUntil('the sandbox of a second replica', 60, async () => {
        const pods = (await listModelPods(name)).filter((pod) => !isPodReady(pod));
        return pods.some((pod) => hasCondition(pod, 'PodReadyToStartContainers'));
      });
      await patchModel(name, { replicas: 1 });
      await waitUntil('a shorter time', 60, async () => {
        const pods = await listModelPods(name);
        return (
          pods.length === 1 ||
          pods.some(({ metadata }) => (metadata.deletionGracePeriodSeconds ?? Infinity) <= 30)
        );
      });
      await waitUntil('the first alone', 240, async () => (await listModelPods(name)).length === 1);
    }
  });
});
