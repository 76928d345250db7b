/** What a GPU shows of a model that makes images or videos. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Checks,
  failed,
  findReason,
  get,
  judge,
  type Model,
  ms,
  type Outcome,
  passed,
  post,
  postForm,
  requireOk,
  timeOf,
} from './endpoint.ts';

const { SIZE = 'auto', SECONDS = '2' } = process.env;
const PROMPT = 'a harbor at dawn';
const POLL_MS = 2_000;
const VIDEO_TIMEOUT_MS = 60 * 60_000;
const IMAGES = 4;

async function makeImage({ id }: Model, fields: object = {}, signal?: AbortSignal): Promise<Buffer> {
  const body = { model: id, prompt: PROMPT, size: SIZE, n: 1, response_format: 'b64_json', ...fields };
  const response = await requireOk(await post('/images/generations', body, signal));
  const { data } = (await response.json()) as { data: { b64_json: string }[] };
  return Buffer.from(data[0]!.b64_json, 'base64');
}

/** The same seed gives the same image, on a GPU up to rounding: that is told, and not judged. */
async function checkImage(model: Model): Promise<Outcome> {
  const first = await makeImage(model, { seed: 7 });
  const second = await makeImage(model, { seed: 7 });
  const isPicture = /^(\x89PNG|\xff\xd8\xff|RIFF)/.test(first.toString('latin1', 0, 4));
  return judge(
    isPicture,
    `${first.length} bytes; the same seed made ${first.equals(second) ? 'the same' : 'another'}`,
  );
}

/** The next client does not wait for what nobody gets. An engine that cannot stop ends its image first. */
async function checkImageLeaving(model: Model): Promise<Outcome> {
  const quiet = await timeOf(() => makeImage(model));
  const client = new AbortController();
  const left = makeImage(model, {}, client.signal).catch(() => {});
  await sleep(quiet / 4);
  client.abort();
  await left;
  const after = await timeOf(() => makeImage(model));
  return judge(after < 2 * quiet + 1_000, `${ms(quiet)} before, ${ms(after)} after`);
}

async function measureImages(model: Model): Promise<Outcome> {
  const times: number[] = [];
  const makeTimed = async () => times.push(await timeOf(() => makeImage(model)));
  const total = await timeOf(() => makeTimed());
  const together = await Promise.allSettled(Array.from({ length: IMAGES }, makeTimed));
  const reason = findReason(together);
  const detail = `one in ${ms(total)}; ${IMAGES} at a time, the last one after ${ms(Math.max(...times))}`;
  return reason ? failed(`${detail}; ${reason}`) : passed(detail);
}

async function checkVideo(model: Model): Promise<Outcome> {
  const start = performance.now();
  const { id } = await submitVideo(model);
  const video = await untilEnd(id);
  if (video.status !== 'completed') return failed(JSON.stringify(video.error ?? video));
  const content = await (await requireOk(await get(`/videos/${id}/content`))).arrayBuffer();
  const isFilm = Buffer.from(content).toString('latin1', 4, 8) === 'ftyp';
  return judge(isFilm, `${content.byteLength} bytes in ${ms(performance.now() - start)}`);
}

async function checkQueue(model: Model): Promise<Outcome> {
  const both = await Promise.all([submitVideo(model), submitVideo(model)]);
  const ended = await Promise.all(both.map(({ id }) => untilEnd(id)));
  return judge(
    ended.every(({ status }) => status === 'completed'),
    ended.map(({ status }) => status).join(', '),
  );
}

interface Video {
  id: string;
  status: string;
  error?: object | null;
}

async function submitVideo({ id }: Model): Promise<Video> {
  const fields = { model: id, prompt: PROMPT, size: SIZE, seconds: SECONDS };
  return (await (await requireOk(await postForm('/videos', fields))).json()) as Video;
}

async function untilEnd(id: string): Promise<Video> {
  for (const end = performance.now() + VIDEO_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const video = (await (await requireOk(await get(`/videos/${id}`))).json()) as Video;
    if (!['queued', 'in_progress'].includes(video.status)) return video;
    if (performance.now() > end) throw new Error(`video ${id} is still ${video.status} after an hour`);
  }
}

export const IMAGE_CHECKS: Checks = {
  'an image is made': checkImage,
  'clients that leave free the engine': checkImageLeaving,
  speed: measureImages,
};

export const VIDEO_CHECKS: Checks = {
  'a video is made': checkVideo,
  'videos wait for each other, and all are made': checkQueue,
};
