import { expect } from 'chai';
import OpenAI7, { toFile } from 'openai';
import OpenAI6 from 'openai-6';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { isSimulated, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { makePicture, probeFilm } from '../support/media-files.ts';
import { pollUntil } from '../support/poll.ts';
import { type CheckedFetch, createCheckedFetch } from './checked-fetch.ts';
import { shareStack } from './shared-stack.ts';

const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];
const SIZE = '320x192';
const prompt = 'A ship leaves';
/** Real engines on a CPU are slow. */
const TIMEOUT_FACTOR = isSimulated ? 1 : 10;

describe('videos', () => {
  let stack: LocalStack;
  before(async () => {
    stack = await shareStack();
  });

  const find = (isPinned: boolean): EndpointEntry =>
    stack.endpoints.deployments.find(
      ({ kind, native }) => kind === 'Video' && (native !== null) === isPinned,
    )!;
  /** A real engine cannot be controlled. */
  const steer = async (isPinned: boolean, settings: object) => {
    if (isSimulated)
      await fetch(`${find(isPinned).simulatorURL}/control`, {
        method: 'PUT',
        body: JSON.stringify(settings),
      });
  };

  for (const [name, OpenAI] of SDKS)
    describe(`with ${name} for Node`, () => {
      let wire: CheckedFetch;
      let free: OpenAI7;
      let pinned: OpenAI7;
      const create = (client: OpenAI7, change: object = {}) =>
        client.videos.create({
          model: find(client === pinned).modelId,
          prompt,
          size: SIZE,
          seconds: '2',
          fps: 8,
          ...change,
        } as never);
      const untilRunning = (id: string) =>
        pollUntil(
          async () => {
            return (await free.videos.retrieve(id)).status === 'in_progress';
          },
          'the video to run',
          TIMEOUT_FACTOR * 10_000,
        );
      const finish = async (client: OpenAI7, id: string): Promise<OpenAI7.Video> => {
        let video: OpenAI7.Video;
        let progress = 0;
        await pollUntil(
          async () => {
            video = await client.videos.retrieve(id);
            if (!/^(queued|in_progress)$/.test(video.status)) return true;
            expect(video.progress).to.be.within(progress, 99);
            progress = video.progress;
            return false;
          },
          'the video to end',
          TIMEOUT_FACTOR * 30_000,
        );
        return video!;
      };
      const download = async (client: OpenAI7, id: string) => {
        const content = await client.videos.downloadContent(id);
        expect(content.headers.get('content-type')).to.equal('video/mp4');
        return probeFilm(await content.arrayBuffer());
      };

      before(() => {
        wire = createCheckedFetch();
        const connect = ({ baseURL, apiKey }: EndpointEntry) =>
          new OpenAI({ baseURL, apiKey, fetch: wire.fetch, maxRetries: 0 });
        free = connect(find(false));
        if (isSimulated) pinned = connect(find(true));
      });
      afterEach('every answer matches the published types', async () => {
        for (const isPinned of [true, false]) await steer(isPinned, { jobSeconds: 0.5 });
        expect(wire.violations).to.deep.equal([]);
      });

      it('makes a video from a text and downloads it', async () => {
        const video = await create(free);
        expect(video).to.include({
          object: 'video',
          status: 'queued',
          progress: 0,
          size: SIZE,
          seconds: '2.125',
        });
        const done = await finish(free, video.id);
        expect(done).to.include({ id: video.id, status: 'completed', error: null });
        // 16 frames are snapped to the nearest 4n+1.
        expect(await download(free, video.id)).to.deep.equal({
          codec: 'h264',
          size: SIZE,
          frames: 17,
          fps: 8,
        });
        expect(wire.checked).to.be.greaterThan(1);
      });

      itSimulated('makes a video from an image', async () => {
        const picture = await toFile(await makePicture(320, 192), 'ship.png', { type: 'image/png' });
        const video = await create(free, { input_reference: picture });
        expect(await finish(free, video.id)).to.include({ status: 'completed' });
        expect((await download(free, video.id)).size).to.equal(SIZE);
        const { last } = (await (await fetch(`${find(false).simulatorURL}/control`)).json()) as {
          last: { body: { name: string; size: number }[] };
        };
        expect(last.body.find(({ name }) => name === 'input_reference')!.size).to.be.greaterThan(0);
      });

      itSimulated('makes a video from an image that is inline, in a form or in JSON', async () => {
        const image_url = `data:image/png;base64,${(await makePicture(320, 192)).toString('base64')}`;
        const { id: form } = await create(free, { input_reference: { image_url } });
        // As versions before 6.28 send what has no file.
        const { id: json } = await free.post<OpenAI7.Video>('/videos', {
          body: {
            model: find(false).modelId,
            prompt,
            size: SIZE,
            seconds: '2',
            input_reference: { image_url },
          },
        });
        for (const id of [form, json]) {
          expect(await finish(free, id)).to.include({ status: 'completed' });
          expect((await download(free, id)).size).to.equal(SIZE);
        }
      });

      it('makes a video from JSON as from a form', async () => {
        const fields = { model: find(false).modelId, prompt, size: SIZE, seconds: '2', fps: 8 };
        const video = await free.post<OpenAI7.Video>('/videos', { body: fields });
        expect(video).to.include({ object: 'video', status: 'queued', size: SIZE, seconds: '2.125' });
        expect(await finish(free, video.id)).to.include({ status: 'completed', error: null });
      });

      itSimulated('makes a video of a pinned model’s own length and rate', async () => {
        const { seconds, fps } = find(true).native!;
        const video = await create(pinned, { seconds: String(seconds), fps });
        await finish(pinned, video.id);
        const film = await download(pinned, video.id);
        expect(film).to.include({ size: SIZE, fps });
        expect(film.frames / film.fps).to.be.closeTo(seconds, 0.1);
      });

      it('refuses the content while the video runs, and to delete it; deletes what has ended', async () => {
        await steer(false, { jobSeconds: 2 });
        const { id } = await create(free);
        const early = await raise(free.videos.downloadContent(id));
        expect([early.status, early.code]).to.deep.equal([409, 'video_not_ready']);
        expect(early.message).to.match(/queued|in_progress/);
        await untilRunning(id);
        const running = await raise(free.videos.delete(id));
        expect([running.status, running.code]).to.deep.equal([409, 'video_not_cancellable']);
        await finish(free, id);
        await free.videos.delete(id);
        expect((await free.videos.retrieve(id)).status).to.equal('completed');
      });

      it('cancels what is queued, as a video or as a request', async () => {
        await steer(false, { jobSeconds: 3 });
        const first = await create(free);
        await untilRunning(first.id);
        const [second, third] = [await create(free), await create(free)];
        await free.videos.delete(second.id);
        expect((await free.videos.retrieve(second.id)).status).to.equal('canceled');
        const canceled = await free.post<{ status: string }>(`/requests/${third.id}/cancel`);
        expect(canceled.status).to.equal('canceled');
        const again = await raise(free.post(`/requests/${third.id}/cancel`));
        expect([again.status, again.code]).to.deep.equal([409, 'request_not_cancellable']);
        const list = await free.get<{ data: { id: string }[] }>('/requests', {
          query: { status: 'canceled' },
        });
        expect(list.data.slice(0, 2).map(({ id }) => id)).to.have.members([second.id, third.id]);
        await finish(free, first.id);
      });

      it('lists videos page by page, newest or oldest first', async () => {
        const made = [await create(free), await create(free), await create(free)].map(({ id }) => id);
        for (const id of made) await finish(free, id);
        const collect = async (query: OpenAI7.VideoListParams) => {
          const ids: string[] = [];
          for await (const { id, object } of free.videos.list(query)) {
            expect(object).to.equal('video');
            ids.push(id);
          }
          return ids;
        };
        const all = await collect({ limit: 2 });
        expect(all.slice(0, 3)).to.deep.equal(made.toReversed());
        expect(new Set(all).size).to.equal(all.length);
        expect(await collect({ limit: 2, order: 'asc' })).to.deep.equal(all.toReversed());
        expect(await collect({ after: made[1], limit: 1, order: 'asc' })).to.deep.equal([made[2]]);
        const page = await free.videos.list({ limit: 1 });
        expect([page.data.length, page.hasNextPage()]).to.deep.equal([1, true]);
      });

      it('downloads a video as the variant video, and makes no other', async () => {
        const { id } = await finish(free, (await create(free)).id);
        const content = await free.videos.downloadContent(id, { variant: 'video' });
        expect((await probeFilm(await content.arrayBuffer())).size).to.equal(SIZE);
        for (const variant of ['thumbnail', 'spritesheet'] as const) {
          const error = await raise(free.videos.downloadContent(id, { variant }));
          expect([error.status, error.code, error.param]).to.deep.equal([
            400,
            'unsupported_value',
            'variant',
          ]);
        }
      });

      itSimulated('reports why a video failed', async () => {
        await steer(false, { fault: { kind: 'oom' }, faultTimes: 1 });
        const { id } = await create(free);
        const video = await finish(free, id);
        expect(video.status).to.equal('failed');
        expect(video.error!.code).to.equal('vram_exceeded');
        expect(video.error!.message).to.not.be.empty;
      });

      it('returns the original for the same idempotency key', async () => {
        const options = { headers: { 'Idempotency-Key': `key-${name}-${Date.now()}` } };
        const request = { model: find(false).modelId, prompt, size: SIZE, seconds: '1' } as never;
        const [first, second] = await Promise.all([
          free.videos.create(request, options),
          free.videos.create(request, options),
        ]);
        expect(second.id).to.equal(first.id);
      });

      const failures: [string, number, string, () => Promise<unknown>][] = [
        ['a size that it has not', 422, 'resolution_not_supported', () => create(free, { size: '640x360' })],
        [
          'another length than its own',
          422,
          'duration_mismatch',
          () => create(pinned, { seconds: '9', fps: 16 }),
        ],
        ['another rate than its own', 422, 'fps_mismatch', () => create(pinned, { seconds: '5', fps: 24 })],
        ['seconds that are no number', 400, 'invalid_type', () => create(free, { seconds: 'abc' })],
        ['another model', 404, 'model_not_found', () => create(free, { model: 'sora-2' })],
        [
          'the ID of a file',
          400,
          'unsupported_parameter',
          () => create(free, { input_reference: { file_id: 'file-1' } }),
        ],
        ['an unknown video', 404, 'not_found', () => free.videos.retrieve(`req_${'0'.repeat(32)}`)],
      ];
      for (const [what, status, code, call] of failures)
        (code.endsWith('_mismatch') ? itSimulated : it)(`raises ${status} ${code} for ${what}`, async () => {
          const error = await raise(call());
          expect(error).to.be.instanceOf(OpenAI.APIError);
          expect([error.status, error.code], error.message).to.deep.equal([status, code]);
        });
    });
});

const raise = (call: Promise<unknown>): Promise<InstanceType<typeof OpenAI7.APIError>> =>
  call.then(
    () => {
      throw new Error('nothing was raised');
    },
    (error) => error,
  );
