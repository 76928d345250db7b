/** Streams and long jobs while replicas come and go, on a node whose cores are all busy. */
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { median } from '../bench/statistics.ts';
import { type CPULoad, startCPULoad } from '../e2e/cpu-load.ts';
import { deploySimulator, patchModel, removeModel, waitUntil } from '../e2e/installation.ts';
import { listInflight } from '../e2e/media.ts';
import { keepStreaming, type Streams, type StreamsSeen } from '../e2e/streams.ts';
import { say } from './figures.ts';
import { type LivePods, watchLivePods } from './live-pods.ts';
import { CPU_LOAD, MAX_REPLICAS, STREAMS, TIDES } from './settings.ts';
import { type WatchedVideos, watchVideos } from './watched-videos.ts';

const TEXT = 'tidal';
const VIDEO = 'tidal-film';
/** Tokens of each stream, a second apart: so many streams then cost little. */
const TOKENS = 12;
/** In whose ebb most clients leave. In the ebb of others they all stay, and `scaling.max` is lowered. */
const DEMAND_TIDES = new Set([1, ...(TIDES > 3 ? [Math.round(TIDES / 2)] : []), TIDES]);
const STREAMS_LEFT = Math.ceil(STREAMS / MAX_REPLICAS / 10);
/** Under way or queued: one for each replica, and a queue that lasts until all have come. */
const VIDEOS = 2 * MAX_REPLICAS;
const VIDEO_SECONDS = 25;
const TIDE_SECONDS = 600;
/** Share of a core for each worker of the load: they share it with all that the test runs. */
const MIN_WORKER_SHARE = 0.02;

const secondsSince = (at: number): number => (performance.now() - at) / 1_000;

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
    text = await deploySimulator(TEXT, {
      env: { SIMULATOR_TOKENS: String(TOKENS), SIMULATOR_ITL_MS: '1000' },
      scaling: { ...scaling, targetConcurrency: STREAMS / MAX_REPLICAS },
    });
    film = await deploySimulator(VIDEO, {
      kind: 'Video',
      video: { resolutions: ['320x192'], tasks: ['t2v'] },
      env: { SIMULATOR_JOB_SECONDS: String(VIDEO_SECONDS) },
      scaling,
    });
    videos = await watchVideos(film);
    await waitUntil('the first replicas', TIDE_SECONDS, async () =>
      [TEXT, VIDEO].every((name) => pods.countReady(name) === 1),
    );
    load = await startCPULoad((TIDES + 1) * TIDE_SECONDS, CPU_LOAD);
  });
  after(async () => {
    await load?.stop();
    videos?.stop();
    await Promise.all([TEXT, VIDEO].map(removeModel));
    await pods?.close();
  });

  const limitReplicas = (max: number) =>
    Promise.all([TEXT, VIDEO].map((name) => patchModel(name, { scaling: { max } })));

  /** Seconds until each has so many; `refills`: whether there are videos to be, now that film has them or has not. */
  const untilReplicas = async (
    replicas: number,
    { streams, refills }: { streams: Streams; refills: (isThere: boolean) => boolean },
  ): Promise<string> => {
    const startedAt = performance.now();
    const reached = new Map<string, number>();
    const isThere = (name: string) =>
      pods.countReady(name) === replicas && (replicas > 1 || pods.present(name).length === 1);
    await waitUntil(`${replicas} replicas of each`, TIDE_SECONDS, async () => {
      expect(streams.seen.failures).to.deep.equal([]);
      await videos.check();
      for (const name of [TEXT, VIDEO])
        if (!reached.has(name) && isThere(name)) reached.set(name, secondsSince(startedAt));
      if (refills(reached.has(VIDEO))) await videos.fill(VIDEOS);
      return reached.size === 2;
    });
    const [ofText, ofFilm] = [TEXT, VIDEO].map((name) => reached.get(name)!.toFixed(0));
    return `${replicas} after ${ofText} s (chat) and ${ofFilm} s (film)`;
  };

  /** Seconds. */
  const runTide = async (tide: number, streams: Streams): Promise<number> => {
    const beganAt = performance.now();
    const isByDemand = DEMAND_TIDES.has(tide);
    streams.limit(STREAMS);
    await limitReplicas(MAX_REPLICAS);
    // Those whose ebb waits for the last video have no more of them than they need.
    const flood = await untilReplicas(MAX_REPLICAS, {
      streams,
      refills: (isThere) => !isByDemand || !isThere,
    });
    if (isByDemand) streams.limit(STREAMS_LEFT);
    else {
      await waitUntil('a video at each replica', TIDE_SECONDS, async () => {
        await videos.check();
        await videos.fill(VIDEOS);
        const inflight = await listInflight(film);
        return inflight.length === MAX_REPLICAS && !inflight.includes(0);
      });
      await limitReplicas(1);
    }
    const ebb = await untilReplicas(1, { streams, refills: () => !isByDemand });
    const took = secondsSince(beganAt);
    say(`tide ${tide}: ${flood}, then by ${isByDemand ? 'demand' : 'max'} ${ebb}; ${took.toFixed(0)} s`);
    return took;
  };

  it(`cut no stream and run each job once, in ${TIDES} tides of 1 to ${MAX_REPLICAS} replicas`, async () => {
    const streams = keepStreaming(text, STREAMS_LEFT, { tokens: TOKENS });
    const tides: number[] = [];
    const startedAt = performance.now();
    try {
      for (let tide = 1; tide <= TIDES; tide++) tides.push(await runTide(tide, streams));
      await videos.untilEnded(TIDE_SECONDS);
    } finally {
      tell(tides, await streams.stop());
      say(`${videos.count} videos of ${VIDEO_SECONDS} s`);
    }
    const share = load.readSeconds() / secondsSince(startedAt) / load.workers;
    say(`each of ${load.workers} workers of the load had ${Math.round(share * 100)} % of a core`);
    expect(streams.seen.failures).to.deep.equal([]);
    expect(streams.seen.ended).to.be.at.least(STREAMS * TIDES);
    await videos.expectOneEndEach();
    expect(load.exitCode, 'stress-ng runs').to.equal(null);
    expect(share).to.be.greaterThan(MIN_WORKER_SHARE);
  });
});

function tell(tides: number[], { ended, refused, longestSilenceMs, failures }: StreamsSeen): void {
  if (tides.length > 0)
    say(
      `${tides.length} tides, of ${median(tides).toFixed(0)} s (median), ${Math.max(...tides).toFixed(0)} s at most`,
    );
  const silence = (longestSilenceMs / 1_000).toFixed(1);
  say(
    `${ended} streams, the longest silence in one ${silence} s; ${failures.length} failed, ${refused} of these refused`,
  );
}
