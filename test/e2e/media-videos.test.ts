import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { toFile } from 'openai';
import { makePicture, probeFilm } from '../support/media-files.ts';
import { ensurePython } from '../support/python.ts';
import { expectError } from './envelope.ts';
import { OPENAI_PYTHON } from './environment.ts';
import { connect, findEndpoint } from './installation.ts';
import { send, submitVideo, waitForStatus, waitForSuccess } from './media.ts';

const SIZE = '320x192';
const free = findEndpoint('free-video');
const pinned = findEndpoint('tiny-video');
const run = promisify(execFile);

describe('videos through the ingress', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('are made from a text, and downloaded by the SDK from the endpoint, as the store has no public name', async () => {
    const client = connect(pinned);
    const { seconds, fps } = pinned.native!;
    const order = { model: pinned.modelId, prompt: 'A ship', size: SIZE, seconds: String(seconds), fps };
    const { id } = await client.videos.create(order as never);
    await waitForSuccess(pinned, id);
    expect((await client.videos.retrieve(id)).status).to.equal('completed');
    const content = await client.videos.downloadContent(id);
    expect(content.url).to.match(/\/v1\/results\//);
    expect(new URL(content.url).origin).to.equal(new URL(pinned.baseURL).origin);
    const film = await probeFilm(await content.arrayBuffer());
    expect(film).to.include({ codec: 'h264', size: SIZE, fps });
    expect(film.frames / film.fps).to.be.closeTo(seconds, 0.1);
  });

  it('are made from an image, and downloaded by plain curl', async () => {
    const input_reference = await toFile(await makePicture(320, 192), 'ship.png', { type: 'image/png' });
    const order = {
      model: free.modelId,
      prompt: 'It leaves',
      size: SIZE,
      seconds: '2',
      fps: 8,
      input_reference,
    };
    const { id } = await connect(free).videos.create(order as never);
    await waitForSuccess(free, id);
    const file = join(folder, 'ship.mp4');
    const authorization = `Authorization: Bearer ${free.apiKey}`;
    await run('curl', ['-fsSL', '-o', file, '-H', authorization, `${free.baseURL}/videos/${id}/content`]);
    const film = await probeFilm(readFileSync(file));
    expect(film).to.deep.equal({ codec: 'h264', size: SIZE, frames: 17, fps: 8 });
  });

  it('are asked for as JSON, with sizes snapped to multiples of 32', async () => {
    const body = { model: free.modelId, prompt: 'A ship', resolution: '720x1280', duration: 0.5, fps: 8 };
    const { status, body: queued } = await send(free, '/videos/generations', { body });
    expect(status, JSON.stringify(queued)).to.equal(202);
    const { output_urls } = await waitForSuccess(free, queued.id!);
    const film = await probeFilm(await (await fetch(output_urls![0]!)).arrayBuffer());
    expect(film).to.deep.equal({ codec: 'h264', size: '704x1280', frames: 5, fps: 8 });
  });

  it('are listed newest first, and canceled while they wait', async () => {
    const running = await submitVideo(pinned);
    await waitForStatus(pinned, running, 'running');
    const [first, second] = [await submitVideo(pinned), await submitVideo(pinned)];
    const { body } = await send(pinned, '/requests?limit=3');
    const list = (body as unknown as { data: { id: string }[] }).data.map(({ id }) => id);
    expect(list).to.deep.equal([second, first, running]);
    expect((await send(pinned, `/videos/${first}`, { method: 'DELETE' })).status).to.equal(204);
    const canceled = await send(pinned, `/requests/${second}/cancel`, { method: 'POST' });
    expect([canceled.status, canceled.body.status]).to.deep.equal([200, 'canceled']);
    const late = await send(pinned, `/requests/${running}/cancel`, { method: 'POST' });
    expectError(late, 409, 'request_not_cancellable');
    await waitForSuccess(pinned, running);
    for (const id of [first, second]) {
      const { body } = await send(pinned, `/videos/${id}`);
      expect(body.status).to.equal('canceled');
      expectError(await send(pinned, `/videos/${id}/content`), 409, 'video_not_ready');
    }
  });

  it('are created once for one idempotency key, also by concurrent requests', async () => {
    const headers = { 'idempotency-key': `e2e-${Date.now()}` };
    const ids = await Promise.all(Array.from({ length: 6 }, () => submitVideo(free, headers)));
    expect(new Set(ids).size).to.equal(1);
    await waitForSuccess(free, ids[0]!);
    const { body } = await send(free, '/requests?limit=200');
    const list = (body as unknown as { data: { id: string }[] }).data;
    expect(list.filter(({ id }) => id === ids[0])).to.have.length(1);
  });

  it('and images are made from Python', async () => {
    const image = findEndpoint('tiny-image');
    const file = join(folder, 'python.mp4');
    const env = {
      ...process.env,
      IMAGE_URL: image.baseURL,
      IMAGE_MODEL: image.modelId,
      VIDEO_URL: free.baseURL,
      VIDEO_MODEL: free.modelId,
      VIDEO_FILE: file,
      API_KEY: image.apiKey,
    };
    const program = ensurePython([OPENAI_PYTHON]);
    const { stdout } = await run(program, ['test/conformance/openai_media.py'], { env });
    expect(JSON.parse(stdout)).to.include({ linked: '256x256', edited: '256x256', video: 'completed' });
    expect((await probeFilm(readFileSync(file))).size).to.equal(SIZE);
  });
});
