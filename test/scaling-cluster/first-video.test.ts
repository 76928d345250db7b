/** From zero for the first video, and back to zero after the last. */
import { expect } from 'chai';
import { deploySimulator, removeModel, waitUntil } from '../e2e/installation.ts';
import { say } from './figures.ts';
import { type LivePods, watchLivePods } from './live-pods.ts';
import { type WatchedVideos, watchVideos } from './watched-videos.ts';

const MORE = 7;
const ROUNDS = 2;
/** Long: a busy node starts pods slowly. */
const ROUND_SECONDS = 600;

describe('a video deployment at zero, on a cluster', function () {
  this.timeout(3_600_000);
  const name = 'first-film';
  let pods: LivePods;
  let videos: WatchedVideos;
  before(async () => {
    pods = watchLivePods();
    const endpoint = await deploySimulator(name, {
      kind: 'Video',
      video: { resolutions: ['320x192'], tasks: ['t2v'] },
      env: { SIMULATOR_STARTUP_SECONDS: '10', SIMULATOR_JOB_SECONDS: '5' },
      scaling: { min: 0, max: 2, stableWindow: '5s', idleTimeout: '5s', targetWait: '10s' },
    });
    videos = await watchVideos(endpoint);
  });
  after(async () => {
    videos?.stop();
    await removeModel(name);
    await pods?.close();
  });

  it('starts for the first video, is gone after the last, and ends each once', async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      await pods.untilGone(name);
      const startedAt = performance.now();
      await videos.submit(1);
      await waitUntil('a pod', 180, async () => pods.present(name).length > 0);
      await videos.submit(MORE);
      let most = 0;
      await Promise.all([
        videos.untilEnded(ROUND_SECONDS),
        waitUntil('two replicas', ROUND_SECONDS, async () => {
          most = Math.max(most, pods.countReady(name));
          return most === 2;
        }),
      ]);
      const endedAt = performance.now();
      await pods.untilGone(name);
      const [tookSeconds, goneSeconds] = [endedAt - startedAt, performance.now() - endedAt].map((ms) =>
        Math.round(ms / 1_000),
      );
      say(
        `${videos.count} videos, the last ${tookSeconds} s after the first was asked for; no pod ${goneSeconds} s later`,
      );
    }
    await videos.expectOneEndEach();
    expect(videos.count).to.equal(ROUNDS * (MORE + 1));
  });
});
