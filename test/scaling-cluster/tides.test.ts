/** Streams and long jobs while replicas come and go, on a node whose cores are all busy. */
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { type CPULoad, startCPULoad } from '../e2e/cpu-load.ts';
import { deploySimulator, removeModel, waitUntil } from '../e2e/installation.ts';
import { steer } from '../e2e/media.ts';
import { keepStreaming, type Streams } from '../e2e/streams.ts';
import { say } from './figures.ts';
import { type LivePods, watchLivePods } from './live-pods.ts';
import { MAX_REPLICAS, STREAMS, TIDES } from './settings.ts';
import { type WatchedVideos, watchVideos } from './watched-videos.ts';

const TEXT = 'tidal';
const VIDEO = 'tidal-film';
const STREAMS_AT_EBB = Math.ceil(STREAMS / MAX_REPLICAS / 10);
/** Of each tide; more than one of some replicas. */
const VIDEOS = MAX_REPLICAS + 2;
/** How long a video takes, in seconds; chosen anew for each tide. */
const JOB_SECONDS = { min: 20, max: 60 };
const TIDE_SECONDS = 600;
/** Of a core, for each worker of the load: they share it with all that the test runs. */
const MIN_WORKER_SHARE = 0.02;

describe('replicas that come and go on a busy node', function () {
  this.timeout((TIDES + 1) * TIDE_SECONDS * 1_000);
  let pods: LivePods;
  let videos: WatchedVideos;
  let text: EndpointEntry;
  let film: EndpointEntry;
  let load: CPULoad;
  before(async () => {
    pods = watchLivePods();
    const scaling = { min: 1, max: MAX_REPLICAS, stableWindow: '5s', targetWait: '5s' };
    // Long waits between the tokens: so many streams then cost little.
    text = await deploySimulator(TEXT, {
      env: { SIMULATOR_TOKENS: '12', SIMULATOR_ITL_MS: '1000' },
      scaling: { ...scaling, targetConcurrency: STREAMS / MAX_REPLICAS },
    });
    film = await deploySimulator(VIDEO, {
      kind: 'Video',
      video: { resolutions: ['320x192'], tasks: ['t2v'] },
      env: { SIMULATOR_JOB_SECONDS: '30' },
      scaling,
    });
    videos = await watchVideos(film);
    await untilReady(1);
    load = await startCPULoad((TIDES + 1) * TIDE_SECONDS);
  });
  after(async () => {
    await load?.stop();
    videos?.stop();
    await Promise.all([TEXT, VIDEO].map(removeModel));
    await pods?.close();
  });

  /** `meanwhile`: as often as it looks. */
  const untilReady = async (
    replicas: number,
    { streams, meanwhile }: { streams?: Streams; meanwhile?: () => Promise<void> } = {},
  ) => {
    const isThere = (name: string) =>
      pods.countReady(name) === replicas && (replicas > 1 || pods.present(name).length === 1);
    const reached = new Set<string>();
    await waitUntil(`${replicas} replicas of each`, TIDE_SECONDS, async () => {
      expect(listReasons(streams?.failures ?? [])).to.deep.equal([]);
      for (const name of [TEXT, VIDEO]) if (isThere(name)) reached.add(name);
      if (reached.size < 2) await meanwhile?.();
      return reached.size === 2;
    });
  };

  it(`cut no stream and run each job once, in ${TIDES} tides of 1 to ${MAX_REPLICAS} replicas`, async () => {
    const streams = keepStreaming(text, STREAMS_AT_EBB);
    const startedAt = performance.now();
    for (let tide = 1; tide <= TIDES; tide++) {
      const beganAt = performance.now();
      streams.limit(STREAMS);
      // The queue must last until the replicas that it asks for are there.
      await untilReady(MAX_REPLICAS, { streams, meanwhile: () => videos.fill(VIDEOS) });
      const floodSeconds = (performance.now() - beganAt) / 1_000;
      // For those that begin from here on.
      const { min, max } = JOB_SECONDS;
      await steer(film, { jobSeconds: Math.round(min + Math.random() * (max - min)) });
      await videos.untilEnded(TIDE_SECONDS);
      streams.limit(STREAMS_AT_EBB);
      await untilReady(1, { streams });
      const tookSeconds = (performance.now() - beganAt) / 1_000;
      const [flood, took] = [floodSeconds, tookSeconds].map((seconds) => seconds.toFixed(0));
      say(`tide ${tide}: ${MAX_REPLICAS} replicas of each after ${flood} s, 1 after ${took} s`);
    }
    const share = load.readSeconds() / ((performance.now() - startedAt) / 1_000) / load.workers;
    const { ended, failures } = await streams.stop();
    say(
      `${ended} streams and ${videos.count} videos; each of ${load.workers} workers of the load had ${Math.round(share * 100)} % of a core`,
    );
    expect(listReasons(failures)).to.deep.equal([]);
    expect(ended).to.be.at.least(STREAMS * TIDES);
    await videos.expectOneEndEach();
    expect(load.exitCode, 'stress-ng runs').to.equal(null);
    expect(share).to.be.greaterThan(MIN_WORKER_SHARE);
  });
});

/** Each once, without its time. */
const listReasons = (failures: readonly string[]): string[] => [
  ...new Set(failures.map((failure) => failure.replace(/^\S+ /, ''))),
];
