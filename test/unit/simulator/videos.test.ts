import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ffmpeg from '@ffmpeg-installer/ffmpeg';
import ffprobe from '@ffprobe-installer/ffprobe';
import { expect } from 'chai';
import sharp from 'sharp';
import { pollUntil } from '../../support/poll.ts';
import { type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

const PATH = '/v1/videos';
const SMALL = { prompt: 'waves', size: '64x48', num_frames: 5, fps: 8 };

interface Video {
  id: string;
  object: string;
  status: string;
  progress: number;
  error: { message: string } | null;
  [field: string]: unknown;
}

const run = promisify(execFile);

describe('the simulator as an engine of videos', () => {
  let simulator: Running;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'videos-test-'));
  });
  beforeEach(async () => {
    simulator = await RunningSimulator.start({ kind: 'Video', settings: { jobSeconds: 0 } });
  });
  afterEach(() => simulator.stop());
  after(() => rm(folder, { recursive: true }));

  const readVideo = async (response: Response): Promise<Video> => {
    expect(response.status).to.equal(200);
    return (await response.json()) as Video;
  };
  const submit = async (more: object = {}): Promise<Video> =>
    readVideo(await simulator.post(PATH, { ...SMALL, ...more }));
  const get = (video: Video, rest = ''): Promise<Response> =>
    fetch(`${simulator.url}${PATH}/${video.id}${rest}`);
  const poll = async (video: Video): Promise<Video> => readVideo(await get(video));
  const remove = (video: Video): Promise<Response> =>
    fetch(`${simulator.url}${PATH}/${video.id}`, { method: 'DELETE' });
  const finish = async (video: Video): Promise<Video> => {
    await pollUntil(async () => ['completed', 'failed'].includes((await poll(video)).status));
    return poll(video);
  };
  const fetchFilm = async (video: Video): Promise<string> => {
    const response = await get(video, '/content');
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('video/mp4');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get('content-length')).to.equal(`${bytes.length}`);
    const file = join(folder, `${video.id}.mp4`);
    await writeFile(file, bytes);
    return file;
  };
  const probe = async (file: string): Promise<object> => {
    const fields = 'codec_name,width,height,r_frame_rate,nb_frames,nb_read_frames,duration';
    const args = ['-v', 'error', '-count_frames', '-show_entries', `stream=${fields}`, '-of', 'json', file];
    return JSON.parse((await run(ffprobe.path, args)).stdout).streams[0];
  };
  const readFirstFrame = async (file: string): Promise<number[]> => {
    const png = join(folder, 'frame.png');
    await run(ffmpeg.path, ['-y', '-v', 'error', '-i', file, '-frames:v', '1', png]);
    return (await sharp(png).stats()).channels.map(({ mean }) => Math.round(mean));
  };

  const shapes: [size: string, frames: number, fps: number][] = [
    ['64x48', 5, 8],
    ['48x80', 1, 24],
    ['80x46', 33, 16],
  ];
  for (const [size, frames, fps] of shapes)
    it(`makes an H.264 MP4 of ${size} with exactly ${frames} frames at ${fps} fps`, async () => {
      const video = await submit({ size, num_frames: frames, fps });
      expect(video).to.include({ object: 'video', size, fps, num_frames: frames });
      expect(await finish(video)).to.include({ status: 'completed', progress: 100, error: null });
      const [width, height] = size.split('x').map(Number);
      const probed = await probe(await fetchFilm(video));
      expect(probed).to.include({
        codec_name: 'h264',
        width,
        height,
        r_frame_rate: `${fps}/1`,
        nb_frames: `${frames}`,
        nb_read_frames: `${frames}`,
      });
      expect(Number((probed as { duration: string }).duration)).to.be.closeTo(frames / fps, 0.001);
    });

  it('takes a form, and shows its parts at the control port', async () => {
    const form = Object.entries({ ...SMALL, seed: 3, num_inference_steps: 8, negative_prompt: 'blur' });
    const parts = form.map(([name, value]): [string, string] => [name, `${value}`]);
    const video = await readVideo(await simulator.postForm(PATH, parts));
    expect(await finish(video)).to.include({ status: 'completed', size: SMALL.size, num_frames: 5, fps: 8 });
    const { last, requests, recent } = await simulator.readControl();
    expect(requests, 'polls do not count').to.equal(1);
    expect(recent[0]).to.include({ method: 'POST', path: PATH, prompt: SMALL.prompt });
    expect((last!.body as object[])[1]).to.deep.equal({
      name: 'size',
      filename: null,
      size: 5,
      value: '64x48',
    });
  });

  it('begins with the reference that was sent', async () => {
    for (const [index, background] of ['red', 'blue'].entries()) {
      const reference = await sharp({ create: { width: 99, height: 9, channels: 3, background } })
        .jpeg()
        .toBuffer();
      const video = await readVideo(
        await simulator.postForm(PATH, [
          ['prompt', 'x'],
          ['size', '64x48'],
          ['num_frames', '5'],
          ['input_reference', reference],
        ]),
      );
      await finish(video);
      const color = await readFirstFrame(await fetchFilm(video));
      expect(color[index * 2]!).to.be.above(200);
      expect(color[2 - index * 2]!).to.be.below(60);
    }
  });

  it('makes seconds times fps frames without num_frames', async () => {
    for (const seconds of [2, '2'])
      expect(await submit({ num_frames: null, seconds })).to.include({ num_frames: 16, seconds: '2' });
    expect(await submit({ seconds: '2' })).to.include({ num_frames: 5 });
  });

  it('goes from queued over in_progress to completed, its progress only growing', async () => {
    await simulator.putControl({ jobSeconds: 0.5, maxConcurrency: 1 });
    const [first, second] = [await submit(), await submit()];
    expect(second).to.include({ status: 'queued', progress: 0 });
    expect(await poll(first)).to.include({ status: 'in_progress' });
    expect((await simulator.readControl()).inflight).to.equal(2);
    const seen: Video[] = [];
    await pollUntil(async () => {
      seen.push(await poll(second));
      return seen.at(-1)!.status === 'completed';
    });
    const statuses = seen
      .map(({ status }) => status)
      .filter((status, index, all) => status !== all[index - 1]);
    expect(statuses).to.deep.equal(['queued', 'in_progress', 'completed']);
    const progress = seen.map((one) => one.progress);
    expect(progress).to.deep.equal(progress.toSorted((one, other) => one - other));
    expect(new Set(progress).size).to.be.above(2);
    expect((await simulator.readControl()).inflight).to.equal(0);
  });

  it('answers 404 for a video that it does not know, and for content before its time', async () => {
    const unknown = { id: 'video_gen_none' } as Video;
    for (const response of [await get(unknown), await get(unknown, '/content'), await remove(unknown)])
      expect(response.status).to.equal(404);
    await simulator.putControl({ jobSeconds: 3600 });
    const video = await submit();
    expect((await get(video, '/content')).status).to.equal(404);
    await remove(video);
  });

  it('forgets a video that is deleted', async () => {
    const video = await submit();
    await finish(video);
    const response = await remove(video);
    expect(response.status).to.equal(200);
    expect(await response.json()).to.deep.equal({ id: video.id, object: 'video.deleted', deleted: true });
    expect((await get(video)).status).to.equal(404);
    expect((await get(video, '/content')).status).to.equal(404);
    expect((await simulator.readControl()).aborted).to.equal(0);
  });

  it('gives up a video that is deleted while it waits or runs, which frees its slot', async () => {
    await simulator.putControl({ jobSeconds: 3600, maxConcurrency: 1 });
    const [running, waiting] = [await submit(), await submit()];
    await simulator.putControl({ jobSeconds: 0 });
    const next = await submit();
    await remove(waiting);
    await remove(running);
    expect(await finish(next)).to.include({ status: 'completed' });
    expect(await simulator.readControl()).to.include({ inflight: 0, aborted: 2 });
  });

  const refused: [body: object, param: string][] = [
    [{ prompt: null }, 'prompt'],
    [{ size: '65x48' }, 'size'],
    [{ size: '8x8' }, 'size'],
    [{ size: '99999x99999' }, 'size'],
    [{ size: 'big' }, 'size'],
    [{ num_frames: 0 }, 'num_frames'],
    [{ num_frames: 1e9 }, 'num_frames'],
    [{ num_frames: 'NaN' }, 'num_frames'],
    [{ num_frames: 3000, size: '2048x2048' }, 'num_frames'],
    [{ fps: 0 }, 'fps'],
    [{ fps: 23.976 }, 'fps'],
    [{ fps: 1e6 }, 'fps'],
    [{ num_frames: null, seconds: 'abc' }, 'seconds'],
    [{ num_frames: null, seconds: 1e9 }, 'seconds'],
    [{ num_frames: null, seconds: {} }, 'seconds'],
    [{ input_reference: 'https://example.com/a.png' }, 'input_reference'],
  ];
  for (const [body, param] of refused)
    it(`refuses ${JSON.stringify(body)} with 400`, async () => {
      const response = await simulator.post(PATH, { ...SMALL, ...body });
      expect(response.status).to.equal(400);
      expect(((await response.json()) as { error: { param: string } }).error.param).to.equal(param);
      expect((await simulator.readControl()).inflight).to.equal(0);
    });

  it('refuses a reference that is no picture', async () => {
    const form: [string, string | Buffer][] = [
      ['prompt', 'x'],
      ['input_reference', Buffer.from('no picture')],
    ];
    expect((await simulator.postForm(PATH, form)).status).to.equal(400);
  });

  it('takes no more videos than it can keep in memory', async () => {
    await simulator.putControl({ jobSeconds: 3600, maxConcurrency: 1 });
    const many = Array.from({ length: 256 }, () => submit({ size: '16x16', num_frames: 1 }));
    const videos = await Promise.all(many);
    expect((await simulator.post(PATH, SMALL)).status).to.equal(503);
    expect((await simulator.readControl()).inflight).to.equal(256);
    for (const video of videos.reverse()) await remove(video);
    expect((await simulator.readControl()).inflight).to.equal(0);
  });

  it('refuses a method that a video does not know', async () => {
    const video = await submit();
    const put = await fetch(`${simulator.url}${PATH}/${video.id}`, { method: 'PUT' });
    expect(put.status).to.equal(405);
    expect((await fetch(`${simulator.url}${PATH}`)).status).to.equal(405);
    expect((await finish(video)).status).to.equal('completed');
  });

  describe('faults', () => {
    it('status refuses the submission', async () => {
      await simulator.putControl({ fault: { kind: 'status', status: 507, body: 'full' } });
      const response = await simulator.post(PATH, SMALL);
      expect([response.status, await response.text()]).to.deep.equal([507, 'full']);
      expect((await simulator.readControl()).inflight).to.equal(0);
    });

    const failures: [kind: string, message: RegExp][] = [
      ['oom', /CUDA out of memory/],
      ['error-frame', /EngineCore/],
    ];
    for (const [kind, message] of failures)
      it(`${kind} fails the job and frees its slot`, async () => {
        await simulator.putControl({ fault: { kind }, jobSeconds: 0.05, maxConcurrency: 1 });
        const video = await submit();
        const failed = await finish(video);
        expect(failed.status).to.equal('failed');
        expect(failed.error!.message).to.match(message);
        expect((await get(video, '/content')).status).to.equal(404);
        expect(await finish(await submit())).to.include({ status: 'completed' });
      });

    it('hang keeps the job running until it is deleted', async () => {
      await simulator.putControl({ fault: { kind: 'hang' } });
      const video = await submit();
      await pollUntil(async () => (await poll(video)).progress === 50);
      await finish(await submit());
      expect(await poll(video)).to.include({ status: 'in_progress', progress: 50 });
      expect((await simulator.readControl()).inflight).to.equal(1);
      await remove(video);
      await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    });

    it('exit ends the process while the job runs', async () => {
      await simulator.putControl({ fault: { kind: 'exit' } });
      await submit();
      await pollUntil(async () => simulator.exits === 1);
    });

    for (const kind of ['drop', 'end'])
      it(`${kind} breaks the answer to the submission, whose job runs on`, async () => {
        await simulator.putControl({ fault: { kind, afterFrames: 0 }, jobSeconds: 3600 });
        const text = await (await simulator.post(PATH, SMALL)).text().catch(() => 'cut');
        expect(() => JSON.parse(text)).to.throw();
        expect((await simulator.readControl()).inflight).to.equal(1);
      });

    it('drop after some frames cuts the content', async () => {
      await simulator.putControl({ fault: { kind: 'drop', afterFrames: 2 } });
      const video = await submit();
      await finish(video);
      const response = await get(video, '/content');
      expect(response.status).to.equal(200);
      expect(await response.text().catch(() => 'cut')).to.equal('cut');
    });

    it('end after some frames gives a part of the content', async () => {
      const whole = await submit();
      await simulator.putControl({ fault: { kind: 'end', afterFrames: 2 } });
      const broken = await submit();
      await Promise.all([finish(whole), finish(broken)]);
      const lengths = [whole, broken].map(
        async (video) => (await (await get(video, '/content')).arrayBuffer()).byteLength,
      );
      const [all, part] = await Promise.all(lengths);
      expect(part).to.equal(Math.floor(all! * 0.4));
    });
  });
});
