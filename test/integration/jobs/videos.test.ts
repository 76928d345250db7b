import { expect } from 'chai';
import { describePicture, makePicture, probeFilm } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { putObject } from '../../support/store-objects.ts';
import { type JobStack, startJobStack } from './job-stack.ts';

describe('video jobs', () => {
  let stack: JobStack;

  before(async () => {
    stack = await startJobStack({ kind: 'Video', jobSeconds: 0.3 });
  });
  after(() => stack?.stop());
  beforeEach(() => stack.pods[0]!.engine.control({ jobSeconds: 0.3, fault: null }));

  const fetchLink = async (url: unknown): Promise<ArrayBuffer> => {
    const response = await fetch(String(url));
    expect(response.status).to.equal(200);
    return response.arrayBuffer();
  };

  it('end with a film of exactly the frames and the size asked for', async () => {
    const id = await stack.submit({ frames: 21, fps: 16, seed: 7, steps: 4, negativePrompt: 'dogs' });
    const record = await stack.untilIs(id, 'succeeded');
    expect(record.output).to.deep.include({ bucket: 'results', credential: null, provider: null });
    expect(record.output!.retentionMs).to.equal(stack.config.limits.resultRetentionMs);
    const [key] = record.output!.keys;
    expect(key).to.match(new RegExp(`^results/team/${id}/[0-9a-f]{32}/0\\.mp4$`));

    const { type, data } = (await stack.readEvents()).get(id)!;
    expect(type).to.equal('request.completed');
    expect(data).to.include({ output_object_key: key, output_bucket: 'results' });
    const payload = data.result_payload as { created: number; data: { url: string; object_key: string }[] };
    expect(payload.data[0]!.object_key).to.equal(key);
    const film = await probeFilm(await fetchLink(payload.data[0]!.url));
    expect(film).to.deep.equal({ codec: 'h264', size: '64x64', frames: 21, fps: 16 });
  });

  it('send the engine what was asked for as a form, and never seconds', async () => {
    const id = await stack.submit({ frames: 9, fps: 8, seed: 7, steps: 4, negativePrompt: 'dogs' });
    await stack.untilIs(id, 'succeeded');
    const { last } = await stack.pods[0]!.engine.read();
    const fields = (last!.body as { name: string; value: string }[]).map(({ name, value }) => [name, value]);
    expect(Object.fromEntries(fields)).to.deep.equal({
      model: 'berth/chat',
      prompt: 'a cat',
      size: '64x64',
      num_frames: '9',
      fps: '8',
      num_inference_steps: '4',
      seed: '7',
      negative_prompt: 'dogs',
    });
  });

  it('begin with the reference where there is one', async () => {
    const picture = await makePicture(64, 64);
    const key = 'inputs/team/req_1/0.png';
    await putObject(stack.storage.store, key, picture, 'image/png');
    const inputs = [
      {
        object: { credential: null, key },
        contentType: 'image/png',
        fileName: 'a "b".png',
        bytes: picture.length,
      },
    ];
    const id = await stack.submit({ task: 'i2v' }, { inputs });
    await stack.untilIs(id, 'succeeded');
    const { last } = await stack.pods[0]!.engine.read();
    const file = (last!.body as { name: string; size: number }[]).find(
      ({ name }) => name === 'input_reference',
    );
    expect(file!.size).to.equal(picture.length);
    expect(await describePicture(picture)).to.equal('png 64x64');
  });

  it('show progress that grows, by the engine’s word or by the time', async () => {
    await stack.pods[0]!.engine.control({ jobSeconds: 3 });
    const id = await stack.submit();
    const seen: number[] = [];
    await pollUntil(async () => {
      const { status, progress } = await stack.read(id);
      if (progress !== seen.at(-1)) seen.push(progress);
      return status === 'succeeded';
    }, 'the end');
    expect(seen).to.deep.equal([...seen].sort((a, b) => a - b));
    expect(
      seen.some((progress) => progress > 0 && progress < 100),
      `${seen}`,
    ).to.equal(true);
  });

  it('leave nothing at the engine, on the disk or in the slots', async () => {
    const id = await stack.submit();
    await stack.untilIs(id, 'succeeded');
    const { replica } = stack.pods[0]!;
    // The request ends a moment before its replica has cleaned up.
    await pollUntil(async () => /berth_gateway_jobs_running 0/.test(await replica.metrics()), 'no job runs');
    const metrics = await replica.metrics();
    expect(metrics).to.match(/berth_gateway_jobs_total\{outcome="succeeded"\} \d/);
    expect((await stack.pods[0]!.engine.read()).inflight).to.equal(0);
  });
});
