import { expect } from 'chai';
import { nodeName, spareNodeName } from '../../cluster/layout.ts';
import { killSpare, restartSpare } from '../../cluster/spare-node.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import {
  cluster,
  deploySimulator,
  isPodReady,
  kubectl,
  listModelPods,
  patchModel,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { listInflight, makeForm, send, waitForSuccess } from './media.ts';
import { type Receiver, startReceiver } from './receivers.ts';
import { type SharedWeights, startSharedWeights } from './shared-weights.ts';
import { keepStreaming } from './streams.ts';
import { startTraffic } from './traffic.ts';

const TOKENS = 40;
const FIRST = nodeName(cluster.name);
const SPARE = spareNodeName(cluster.name);
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
/** Until a front has given up a replica whose node is silent. */
const LOSS_MS = 20_000;

describe('with a second node', function () {
  this.timeout(600_000);
  let weights: SharedWeights;
  let receiver: Receiver;
  let chat: EndpointEntry;
  let video: EndpointEntry;
  before(async () => {
    weights = await startSharedWeights('e2e/roaming', 'e2e-roaming');
    receiver = await startReceiver(cluster.nodeIP, {});
    await kubectl('uncordon', SPARE);
    [chat, video] = await Promise.all([
      deploySimulator('roaming', {
        replicas: 2,
        route: { via: 'Front' },
        model: {
          id: 'e2e/roaming',
          source: weights.source,
        },
        env: { ...weights.env, SIMULATOR_TOKENS: String(TOKENS), SIMULATOR_ITL_MS: '50' },
      }),
      deploySimulator('roaming-video', {
        kind: 'Video',
        replicas: 2,
        // An Ingress controller's question to a lost replica would hang.
        route: { via: 'Front' },
        env: { SIMULATOR_JOB_SECONDS: '8' },
        video: { resolutions: ['320x192'], tasks: ['t2v'], parameters: ['fps'] },
      }),
    ]);
    await Promise.all(['roaming', 'roaming-video'].map((name) => waitForModel(name)));
  });
  after(async () => {
    await kubectl('cordon', SPARE);
    await Promise.all(['roaming', 'roaming-video'].map(removeModel));
    await weights?.remove();
    receiver?.stop();
  });

  /** The nodes of a deployment's ready pods. */
  const listNodes = async ({ name }: EndpointEntry) =>
    (await listModelPods(name))
      .filter(isPodReady)
      .map(({ spec }) => spec.nodeName)
      .sort();
  const untilOn = async (endpoint: EndpointEntry, nodes: string[], seconds = 120) => {
    await waitUntil(
      `${endpoint.name} on ${nodes}`,
      seconds,
      async () => String(await listNodes(endpoint)) === String(nodes),
    );
  };
  /** Videos with a callback each, as many as are worked on at once; answers their ids when all are. */
  const startVideos = async (): Promise<string[]> => {
    const order = { model: video.modelId, prompt: 'A ship', size: '320x192', seconds: 1, fps: 8 };
    const ids: string[] = [];
    await waitUntil('a video on each replica', 60, async () => {
      const busy = await listInflight(video);
      if (busy.every((count) => count > 0)) return true;
      if (ids.length < 4) {
        const body = makeForm({ ...order, webhook_url: receiver.urlOf('/ended') });
        const { status, body: answer } = await send(video, '/videos', { body });
        expect(status, JSON.stringify(answer)).to.equal(202);
        ids.push(answer.id!);
      }
      return false;
    });
    return ids;
  };
  const expectOneEndEach = async (ids: string[]) => {
    for (const id of ids) await waitForSuccess(video, id, 240);
    const eventsOf = (id: string) =>
      receiver.at('/ended').flatMap(({ event }) => (event.data.id === id ? [event.type] : []));
    await waitUntil('the callbacks', 60, async () => ids.every((id) => eventsOf(id).length > 0));
    for (const id of ids) expect(eventsOf(id)).to.deep.equal(['request.completed']);
  };

  it('replicas are spread over both, of one download', async () => {
    for (const each of [chat, video]) await untilOn(each, [FIRST, SPARE]);
    expect(weights.countDownloads()).to.equal(1);
  });

  it('a drained node’s streams and videos end as if nothing was, and its replicas start on the other', async () => {
    const streams = keepStreaming(chat, 4, { tokens: TOKENS });
    const ids = await startVideos();
    await kubectl('drain', SPARE, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=180s');
    for (const each of [chat, video]) await untilOn(each, [FIRST, FIRST]);
    expect((await streams.stop()).failures).to.deep.equal([]);
    await expectOneEndEach(ids);
    expect(weights.countDownloads()).to.equal(1);
  });

  it('a cordoned node is left alone by a rollout and a larger scale', async () => {
    await patchModel(chat.name, { replicas: 3, rollout: { revision: 'cordoned' } });
    await waitForModel(chat.name);
    expect(await listNodes(chat)).to.deep.equal([FIRST, FIRST, FIRST]);
  });

  describe('that loses its power', () => {
    before(async () => {
      for (const { name } of [chat, video]) await patchModel(name, { replicas: 1 });
      for (const { name } of [chat, video]) await waitForModel(name);
      await kubectl('uncordon', SPARE);
      for (const { name } of [chat, video]) await patchModel(name, { replicas: 2 });
      for (const each of [chat, video]) await untilOn(each, [FIRST, SPARE]);
    });
    after(async () => {
      await restartSpare(cluster);
      await kubectl('taint', 'nodes', SPARE, `${OUT_OF_SERVICE}-`).catch(() => {});
    });
    let ids: string[];

    it('fails no more than what it had, and nobody waits for it for long', async () => {
      const traffic = startTraffic(chat);
      await traffic.more(20);
      ids = await startVideos();
      await killSpare(cluster);
      await traffic.more(100);
      const { failures, slowestMs } = await traffic.stop();
      for (const failure of failures) expect(failure).to.match(/upstream_error/);
      expect(failures.length).to.be.below(30);
      expect(slowestMs).to.be.below(LOSS_MS);
      const later = startTraffic(chat);
      await later.more(20);
      const seen = await later.stop();
      expect(seen.failures).to.deep.equal([]);
    });

    it('has its replicas and videos taken over once it is declared out of service', async () => {
      await kubectl('taint', 'nodes', SPARE, `${OUT_OF_SERVICE}=nodeshutdown:NoExecute`);
      for (const each of [chat, video]) await untilOn(each, [FIRST, FIRST]);
      await expectOneEndEach(ids);
    });

    it('serves again when it is back', async () => {
      await restartSpare(cluster);
      await kubectl('taint', 'nodes', SPARE, `${OUT_OF_SERVICE}-`);
      for (const { name } of [chat, video]) await waitForModel(name);
      await patchModel(chat.name, { replicas: 3 });
      await untilOn(chat, [FIRST, FIRST, SPARE]);
      const streams = keepStreaming(chat, 3, { tokens: TOKENS });
      await waitUntil('streams of all replicas', 60, async () => streams.seen.ended >= 6);
      expect((await streams.stop()).failures).to.deep.equal([]);
    });
  });
});
