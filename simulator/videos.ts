/** The routes of videos: submitted, polled, fetched, deleted. */

import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError, refuse, refuseField, refuseLoading, refuseRoute } from './errors.ts';
import { checkBody, type Exchange, listFiles } from './exchange.ts';
import { type BreakingFault, breakBody, strike } from './faults.ts';
import { type Fields, readInteger } from './fields.ts';
import {
  findSizeFailure,
  type MediaPrompt,
  parseNumbers,
  readMediaPrompt,
  readSize,
} from './media-fields.ts';
import { drawOver, drawPattern, measurePicture, type Size } from './pictures.ts';
import { hashText } from './random.ts';
import { createChoiceRandom } from './sampling.ts';
import type { Fault } from './settings.ts';
import type { VideoJob, VideoParameters } from './video-jobs.ts';

const DEFAULT_SIZE: Size = { width: 832, height: 480 };
const DEFAULT_FPS = 24;
const DEFAULT_SECONDS = 4;
const MAX_SIDE = 2048;
const MAX_FPS = 120;
const MAX_FRAMES = 3000;
const MAX_SECONDS = 600;
/** Limit of all frames of a video: half a minute of work for one core. */
const MAX_PIXELS = 2 ** 30;

/** POST /v1/videos: answers at once; a fault strikes the job where it can. */
export async function serveSubmission(exchange: Exchange): Promise<void> {
  const { engine, call, release } = exchange;
  const fault = engine.settings.takeFault();
  if (fault?.kind === 'status') return void strike(call, fault, engine.options.exit);

  const fields = parseNumbers(checkBody(exchange));
  const { media } = engine.personality;
  const prompt = readMediaPrompt(fields, media);
  const shape = readShape(fields);
  const picture = await drawFirst(exchange, prompt, shape.size);
  const { jobSeconds: seconds } = engine.settings.current;
  const failure = findSizeFailure(shape.size, media);
  const job = engine.jobs.add({ ...shape, prompt: prompt.prompt, picture, seconds, fault, failure });
  release();
  const text = JSON.stringify(describeVideo(engine, job));
  if (breaksAnswer(fault) && fault.afterFrames === 0) return breakBody(call, fault, text);
  call.sendText(200, text, 'application/json');
}

const breaksAnswer = (fault: Fault | null): fault is BreakingFault =>
  fault?.kind === 'drop' || fault?.kind === 'end';

function readShape(fields: Fields): Pick<VideoParameters, 'size' | 'frames' | 'fps'> {
  const size = readSize(fields, MAX_SIDE) ?? DEFAULT_SIZE;
  if (size.width % 2 !== 0 || size.height % 2 !== 0) throw refuse('Each side of size must be even.', 'size');
  const fps = readInteger(fields, 'fps', { min: 1, max: MAX_FPS }) ?? DEFAULT_FPS;
  const range = { min: 1, max: MAX_FRAMES };
  const frames =
    readInteger(fields, 'num_frames', range) ??
    readInteger({ num_frames: readSeconds(fields) * fps }, 'num_frames', range)!;
  if (frames * size.width * size.height > MAX_PIXELS)
    throw refuse(`num_frames times the pixels of size must be at most ${MAX_PIXELS}.`, 'num_frames');
  return { size, frames, fps };
}

/** Whole seconds, as a number or a text; `num_frames` goes before it. */
function readSeconds(fields: Fields): number {
  const value = fields.seconds;
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return readInteger({ seconds }, 'seconds', { min: 1, max: MAX_SECONDS }) ?? DEFAULT_SECONDS;
}

/** The reference, or without one a pattern of the prompt's. */
async function drawFirst(exchange: Exchange, { prompt, seed }: MediaPrompt, size: Size): Promise<Buffer> {
  if (exchange.body.ok && (exchange.body.value as Fields).input_reference != null)
    throw refuseField(['input_reference'], 'Input should be a file of a multipart form');
  const inputs = listFiles(exchange, 'input_reference');
  if (inputs.length === 0) return drawPattern(size, createChoiceRandom(hashText(prompt), seed, 0));
  for (const input of inputs) await measurePicture(input);
  return drawOver(size, { inputs: inputs.slice(0, 1), mask: undefined, random: null });
}

export interface VideoPath {
  id: string;
  isContent: boolean;
}

export function readVideoPath(path: string): VideoPath | undefined {
  const [, id, content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? [];
  return id === undefined ? undefined : { id, isContent: content !== undefined };
}

/** GET and DELETE /v1/videos/{id}, GET /v1/videos/{id}/content. */
export function serveVideo(engine: Engine, call: Call, { id, isContent }: VideoPath): void {
  const { method } = call.request;
  const job = engine.jobs.get(id);
  if (method !== 'GET' && (method !== 'DELETE' || isContent)) call.sendRefusal(refuseRoute(405));
  else if (!engine.isLoaded) call.sendRefusal(refuseLoading());
  else if (!job) call.sendRefusal(refuseVideo(`Video ${id.slice(0, 100)} not found.`));
  else if (isContent) sendFilm(call, job);
  else if (method === 'GET') call.sendJSON(readStatus(engine, job), describeVideo(engine, job));
  else {
    if (engine.personality.media.deleteEndsWork) engine.jobs.remove(job);
    else engine.jobs.forget(job);
    call.sendJSON(200, { id: job.id, object: 'video.deleted', deleted: true });
  }
}

const readStatus = ({ personality }: Engine, { error }: VideoJob): number =>
  error && personality.media.failsPolls ? error.status : 200;

const refuseVideo = (message: string): EngineError => new EngineError(404, 'NotFoundError', message);

function sendFilm(call: Call, job: VideoJob): void {
  const { id, status, film, parameters } = job;
  if (!film) call.sendRefusal(refuseVideo(`Video ${id} is not ready: it is ${status}.`));
  else if (breaksAnswer(parameters.fault) && parameters.fault.afterFrames > 0)
    breakFilm(call, parameters, parameters.fault, film);
  else call.sendBytes(film, 'video/mp4');
}

/** Sends the share of the bytes that the fault's frames are of all. */
function breakFilm(call: Call, { frames }: VideoParameters, fault: BreakingFault, film: Buffer): void {
  const part = film.subarray(0, Math.floor(film.length * Math.min(fault.afterFrames / frames, 0.99)));
  if (fault.kind === 'end') call.sendBytes(part, 'video/mp4');
  else {
    call.response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': film.length });
    call.cut(part);
  }
}

const describeVideo = ({ options, personality: { media } }: Engine, job: VideoJob): object => ({
  id: job.id,
  object: 'video',
  model: options.model,
  prompt: job.parameters.prompt,
  status: job.status === 'queued' || job.status === 'in_progress' ? media.states[job.status] : job.status,
  progress: job.isEnded || media.reportsProgress ? job.progress : 0,
  created_at: job.createdAt,
  completed_at: job.status === 'completed' ? job.endedAt : null,
  expires_at: null,
  size: `${job.parameters.size.width}x${job.parameters.size.height}`,
  seconds: `${Number((job.parameters.frames / job.parameters.fps).toFixed(3))}`,
  fps: job.parameters.fps,
  num_frames: job.parameters.frames,
  remixed_from_video_id: null,
  error: job.error && media.describeFailure(job.error),
});
