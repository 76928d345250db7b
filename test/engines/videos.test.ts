/** Videos of the real engine: queued jobs, from submission to file. */
import { expect } from 'chai';
import { Pool } from 'undici';
import { findMediaEngine } from '../../api/media-engines.ts';
import { pollVideo } from '../../gateway/engine/video-client.ts';
import { probeFilm } from '../support/media-files.ts';
import { pollUntil } from '../support/poll.ts';
import type { Fields } from './answers.ts';
import { readEngine } from './catalog.ts';
import { download, finishVideo, get, sendForm } from './media-calls.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const { maxSteps, seed: seeds } = findMediaEngine(name);
const SIZE = '64x64';
const LARGE = '256x256';
/** Accepted, but too small to generate anything. */
const TOO_SMALL = '8x8';
const FRAMES = 9;
const RESTART_TIMEOUT_MS = 240_000;
/** More than enough for a short video, and too little for a long one. */
const TIMEOUT_SECONDS = 15;

/** 9 frames (4n+1), which every model supports. */
const order = (fields: Fields = {}): Fields => ({
  prompt: 'a ship leaves the harbour',
  size: SIZE,
  seconds: '1',
  fps: 9,
  steps: 2,
  seed: 7,
  ...fields,
});
/** Long enough to be observed while it runs. */
const LONG = { size: LARGE, steps: Math.min(maxSteps, 200), seconds: '5' };

describe(`videos of ${name}`, function () {
  this.timeout(660_000);
  let served: ServedModel;
  before(async () => {
    served = await serveModel(name, {
      kind: 'Video',
      spec: {
        concurrency: 1,
        video: {
          resolutions: [SIZE, LARGE],
          tasks: ['t2v'],
          parameters: ['seed', 'num_inference_steps', 'fps', 'negative_prompt'],
          steps: { min: 1, max: maxSteps, default: 2 },
        },
      },
    });
  });
  after(() => served?.stop());

  const submit = async (fields: Fields = {}): Promise<string> => {
    const { status, body } = await sendForm(served.gateway, '/videos', order(fields));
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.id as string;
  };
  const make = async (fields: Fields = {}): Promise<Fields> =>
    finishVideo(served.gateway, await submit(fields));
  const untilRuns = (id: string) =>
    pollUntil(
      async () => (await get(served.gateway, `/videos/${id}`)).body.status === 'in_progress',
      'the video to be worked on',
    );

  it('are queued, made, and downloaded with the size, length and rate that were asked for', async () => {
    const video = await make();
    expect(video, JSON.stringify(video)).to.include({ status: 'completed', progress: 100 });
    const film = await probeFilm(await download(served.gateway, `/videos/${video.id}/content`));
    expect(film).to.deep.equal({ codec: 'h264', size: SIZE, frames: FRAMES, fps: 9 });
  });

  it('are those that the engine itself makes with the same seed', async () => {
    const { id } = await make();
    const { seconds: _, ...fields } = order();
    const direct = await sendForm(served.engine, '/videos', {
      ...fields,
      num_frames: FRAMES,
      num_inference_steps: 2,
    });
    expect(direct.status, JSON.stringify(direct.body)).to.be.below(300);
    const video = await finishVideo(served.engine, direct.body.id as string);
    expect(video.status, JSON.stringify(video)).to.equal('completed');
    const films = await Promise.all([
      download(served.gateway, `/videos/${id}/content`),
      download(served.engine, `/videos/${direct.body.id}/content`),
    ]);
    const [behind, own] = films.map((film) => Buffer.from(film));
    expect(behind!.equals(own!)).to.equal(true);
  });

  const refused: [string, Fields, string][] = [
    ['a size that it does not have', { size: '63x63' }, 'size'],
    ...(seeds.min === 0 ? [['a negative seed', { seed: -1 }, 'seed'] as [string, Fields, string]] : []),
  ];
  for (const [title, fields, param] of refused)
    it(`are refused before they are queued: ${title}`, async () => {
      const { status, body } = await sendForm(served.gateway, '/videos', order(fields));
      expect(status).to.be.within(400, 422);
      expect(body.error).to.include({ param });
    });

  // For a failed job, it responds with the status of the error, and the job as the body.
  if (name === 'vllm-omni')
    it('that fail in the engine are known as failed', async () => {
      const { seconds: _, ...fields } = order({ size: TOO_SMALL });
      const body = { ...fields, num_frames: FRAMES, num_inference_steps: 2 };
      const direct = await sendForm(served.engine, '/videos', body);
      expect(direct.status, JSON.stringify(direct.body)).to.be.below(300);
      const pool = new Pool(new URL(served.engine.baseURL).origin);
      try {
        let video = await pollVideo(pool, direct.body.id as string);
        await pollUntil(
          async () => {
            video = await pollVideo(pool, direct.body.id as string);
            return video?.state !== 'working';
          },
          'the video to end',
          RESTART_TIMEOUT_MS,
        );
        expect(video).to.include({ state: 'failed' });
        expect(video!.failure!.message).to.be.a('string').that.is.not.empty;
      } finally {
        await pool.close();
      }
    });

  it('wait for each other, and are cancelled while they wait', async () => {
    const first = await submit(LONG);
    await untilRuns(first);
    const second = await submit();
    expect((await get(served.gateway, `/videos/${second}`)).body.status).to.equal('queued');
    const response = await fetch(`${served.gateway.baseURL}/videos/${second}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${served.gateway.key}` },
    });
    expect(response.status).to.equal(204);
    expect((await get(served.gateway, `/videos/${second}`)).body.status).to.equal('canceled');
    expect((await finishVideo(served.gateway, first)).status).to.equal('completed');
  });

  it('run out of time, and the next one is made once the engine has ended the work', async () => {
    await served.patch({ limits: { videoTimeout: `${TIMEOUT_SECONDS}s` } });
    try {
      // By then the sidecar has noticed it.
      expect((await make()).status).to.equal('completed');
      const late = await submit(LONG);
      await untilRuns(late);
      const next = await submit();
      const ended = await finishVideo(served.gateway, late);
      expect(ended.status).to.equal('failed');
      expect((ended.error as Fields).code).to.equal('model_timeout');
      expect((await get(served.gateway, `/videos/${next}`)).body.status).to.equal('queued');
      // It would exceed its time if it waited in the engine behind the other.
      expect((await finishVideo(served.gateway, next)).status).to.equal('completed');
    } finally {
      await served.patch({ limits: { videoTimeout: '30m' } });
      await make();
    }
  });

  for (const [title, signal, pattern] of [
    ['killed', 'SIGKILL', engine.worker],
    ['told to stop', 'SIGTERM', undefined],
  ] as const)
    it(`end, and the next ones are made, when the engine is ${title}`, async () => {
      const before = await served.restarts();
      const id = await submit(LONG);
      await untilRuns(id);
      served.signal(signal, pattern);
      await pollUntil(async () => (await served.restarts()) > before, 'a restart', RESTART_TIMEOUT_MS);
      const ended = await finishVideo(served.gateway, id);
      if (ended.status !== 'completed') {
        expect(ended.status).to.equal('failed');
        expect((ended.error as Fields).code).to.equal('upstream_error');
      }
      await served.untilReady();
      expect((await make()).status).to.equal('completed');
    });
});
