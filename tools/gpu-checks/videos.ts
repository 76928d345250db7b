/** What a GPU shows of a model that makes videos. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Checks,
  failed,
  get,
  judge,
  type Model,
  ms,
  type Outcome,
  postForm,
  remove,
  requireOk,
  skipped,
} from './endpoint.ts';
import { makePicture, SIZE } from './pictures.ts';

const { SECONDS = '2' } = process.env;
const PROMPT = 'a harbor at dawn';
const POLL_MS = 2_000;
const VIDEO_TIMEOUT_MS = 60 * 60_000;
/** Limit relative to the time that another video took. */
const SLOWEST = 1.8;

interface Video {
  id: string;
  status: string;
  error?: object | null;
}

type Task = 't2v' | 'i2v';

/** Makes videos of words, unless the model only makes them of images. */
const chooseTask = ({ supported_parameters: tasks }: Model): Task =>
  tasks?.i2v && !tasks.t2v ? 'i2v' : 't2v';

async function submitVideo(model: Model, task = chooseTask(model)): Promise<Video> {
  const fields = { model: model.id, prompt: PROMPT, size: SIZE, seconds: SECONDS };
  const reference = task === 'i2v' && { input_reference: await makePicture() };
  return (await (await requireOk(await postForm('/videos', { ...fields, ...reference }))).json()) as Video;
}

async function untilEnd(id: string): Promise<Video> {
  for (const end = performance.now() + VIDEO_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const video = (await (await requireOk(await get(`/videos/${id}`))).json()) as Video;
    if (!['queued', 'in_progress'].includes(video.status)) return video;
    if (performance.now() > end) throw new Error(`video ${id} is still ${video.status} after an hour`);
  }
}

async function checkVideo(model: Model, task = chooseTask(model)): Promise<Outcome> {
  const start = performance.now();
  const { id } = await submitVideo(model, task);
  const video = await untilEnd(id);
  if (video.status !== 'completed') return failed(JSON.stringify(video.error ?? video));
  const content = await (await requireOk(await get(`/videos/${id}/content`))).arrayBuffer();
  const isFilm = Buffer.from(content).toString('latin1', 4, 8) === 'ftyp';
  return judge(isFilm, `${content.byteLength} bytes in ${ms(performance.now() - start)}`);
}

async function checkVideoOfImage(model: Model): Promise<Outcome> {
  return model.supported_parameters?.i2v ? checkVideo(model, 'i2v') : skipped('it makes none of images');
}

async function checkQueue(model: Model): Promise<Outcome> {
  const both = await Promise.all([submitVideo(model), submitVideo(model)]);
  const ended = await Promise.all(both.map(({ id }) => untilEnd(id)));
  return judge(
    ended.every(({ status }) => status === 'completed'),
    ended.map(({ status }) => status).join(', '),
  );
}

/** It waits behind the first, and the last takes its turn. */
async function checkCanceled(model: Model): Promise<Outcome> {
  const start = performance.now();
  const first = await submitVideo(model);
  const canceled = await submitVideo(model);
  const { status } = await remove(`/videos/${canceled.id}`);
  const last = await submitVideo(model);
  const { status: firstStatus } = await untilEnd(first.id);
  const firstMs = performance.now() - start;
  const { status: lastStatus } = await untilEnd(last.id);
  const lastMs = performance.now() - start - firstMs;
  const { status: canceledStatus } = await untilEnd(canceled.id);
  const statuses = `${firstStatus}, ${canceledStatus}, ${lastStatus}`;
  const detail = `${statuses}; the first in ${ms(firstMs)}, the last ${ms(lastMs)} after it`;
  if (status === 409) return skipped(`${detail}: the second was being made when it was to be canceled`);
  return judge(
    statuses === 'completed, canceled, completed' && lastMs < SLOWEST * firstMs + 2 * POLL_MS,
    detail,
  );
}

export const VIDEO_CHECKS: Checks = {
  'a video is made': (model) => checkVideo(model),
  'a video is made of an image': checkVideoOfImage,
  'videos wait for each other, and all are made': checkQueue,
  'a canceled video leaves the engine to the next one': checkCanceled,
};
