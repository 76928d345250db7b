import { expect } from 'chai';
import sharp from 'sharp';
import type { EngineName } from '../../../simulator/personality.ts';
import { pollUntil } from '../../support/poll.ts';
import { type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

const PATH = '/v1/videos';
const SMALL = { prompt: 'waves', size: '64x48', num_frames: 5, fps: 8 };
const ENDED = ['completed', 'failed'];

interface Video {
  id: string;
  status: string;
  progress: number;
  error: Record<string, unknown> | null;
}

describe('the simulator with the habits of media engines', () => {
  let simulator: Running;
  afterEach(() => simulator?.stop());

  const start = async (like: EngineName | null, kind: 'Image' | 'Video', settings: object = {}) => {
    simulator = await RunningSimulator.start({ kind, settings: { jobSeconds: 0, like, ...settings } });
  };
  const submit = async (more: object = {}): Promise<Video> =>
    (await (await simulator.post(PATH, { ...SMALL, ...more })).json()) as Video;
  const get = ({ id }: Video) => fetch(`${simulator.url}${PATH}/${id}`);
  const poll = async (video: Video) => (await (await get(video)).json()) as Video;
  const finish = async (video: Video) => {
    await pollUntil(async () => ENDED.includes((await poll(video)).status));
    return poll(video);
  };

  for (const [like, state] of [
    ['vllm-omni', 'in_progress'],
    ['sglang-diffusion', 'queued'],
  ] as const) {
    it(`says nothing of a video's progress before its end, as ${like} does`, async () => {
      await start(like, 'Video', { jobSeconds: 0.3 });
      const video = await submit();
      const seen = new Set<string>();
      await pollUntil(async () => {
        const { status, progress } = await poll(video);
        seen.add(`${status} ${progress}`);
        return status === 'completed';
      });
      expect([...seen]).to.deep.equal([`${state} 0`, 'completed 100']);
    });

    it(`works on at a video that was deleted, as ${like} does`, async () => {
      await start(like, 'Video', { jobSeconds: 0.4, maxConcurrency: 1 });
      const video = await submit();
      const response = await fetch(`${simulator.url}${PATH}/${video.id}`, { method: 'DELETE' });
      expect(response.status).to.equal(200);
      expect((await get(video)).status).to.equal(404);
      const { inflight, aborted } = await simulator.readControl();
      expect({ inflight, aborted }).to.deep.equal({ inflight: 1, aborted: 0 });
      await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    });
  }

  it('answers polls of a failed video with the status of what went wrong, as vLLM-Omni does', async () => {
    await start('vllm-omni', 'Video', { fault: { kind: 'oom' } });
    const video = await submit();
    await pollUntil(async () => (await poll(video)).status === 'failed');
    const response = await get(video);
    expect(response.status).to.equal(500);
    const { id, error } = (await response.json()) as Video;
    expect({ id, code: error!.code }).to.deep.equal({ id: video.id, code: 500 });
  });

  it('fails at sizes that are no multiples of 16, as vLLM-Omni does', async () => {
    await start('vllm-omni', 'Video');
    expect((await finish(await submit({ size: '72x48' }))).error!.message).to.match(/divisible by 16/);
  });

  it('takes no more than 200 steps, and a guidance up to 20, as vLLM-Omni does', async () => {
    await start('vllm-omni', 'Image');
    for (const more of [{ num_inference_steps: 201 }, { guidance_scale: 21 }, { true_cfg_scale: 21 }]) {
      const response = await simulator.post('/v1/images/generations', { ...SMALL, ...more });
      expect(response.status).to.equal(400);
    }
  });

  it('takes no negative seed, as SGLang Diffusion does', async () => {
    await start('sglang-diffusion', 'Video');
    const response = await simulator.post(PATH, { ...SMALL, seed: -1 });
    expect(response.status).to.equal(400);
    expect(await response.json())
      .to.have.property('detail')
      .that.includes('seed');
  });

  it('says nothing of why an image failed, as SGLang Diffusion does', async () => {
    await start('sglang-diffusion', 'Image', { fault: { kind: 'oom' } });
    const response = await simulator.post('/v1/images/generations', SMALL);
    expect(response.status).to.equal(500);
    expect(await response.text()).to.equal('Internal Server Error');
  });

  const edit = async (maskField: string) => {
    const make = (alpha: number) =>
      sharp({ create: { width: 64, height: 48, channels: 4, background: { r: 9, g: 9, b: 9, alpha } } })
        .png()
        .toBuffer();
    const response = await simulator.postForm('/v1/images/edits', [
      ['prompt', 'a kite'],
      ['size', '64x48'],
      ['image', await make(1)],
      // Opaque: nothing of the image may change.
      [maskField, await make(1)],
    ]);
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    const { channels } = await sharp(Buffer.from(data[0]!.b64_json, 'base64')).stats();
    return channels.every(({ min, max }) => min === 9 && max === 9);
  };
  for (const [like, read, unread] of [
    [null, 'mask', 'mask_image'],
    ['vllm-omni', 'mask_image', 'mask'],
    ['sglang-diffusion', null, 'mask'],
  ] as const)
    it(`reads a mask by the name that ${like ?? 'it'} has for it, and ignores others`, async () => {
      await start(like, 'Image');
      if (read) expect(await edit(read)).to.equal(true);
      expect(await edit(unread)).to.equal(false);
    });
});
