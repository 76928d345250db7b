/** The video routes of an engine, one call each (OpenAI's videos API as SGLang Diffusion and vLLM-Omni serve it). */
import type { Readable } from 'node:stream';
import { isTooDeep } from '../../kit/json-cost.ts';
import { ApiError } from '../http/error-response.ts';
import type { TraceContext } from '../tracing/span.ts';
import {
  type EngineBody,
  type EngineRequest,
  fetchFromEngine,
  readResponse,
  requestEngine,
} from '../upstream/engine-request.ts';
import type { EnginePool } from './engine-call.ts';
import { findEngineError, readEngineError } from './engine-error.ts';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import { buildForm, type PartFile } from './form.ts';
import type { VideoParameters } from './job.ts';

export interface EngineVideo {
  id: string;
  state: 'working' | 'completed' | 'failed';
  /** Percent; 0 if the engine reports none. */
  progress: number;
  /** Why it failed. */
  failure: ApiError | null;
}

const SUBMISSION_TIMEOUT_MS = 120_000;
const ANSWER_TIMEOUT_MS = 5_000;
const CONTENT_IDLE_TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const SUCCESS_STATES = new Set(['completed', 'succeeded']);
const FAILURE_STATES = new Set(['failed', 'canceled', 'cancelled', 'expired', 'error']);

/** Throws ApiError if the engine refuses, EngineConnectionError if it does not respond. */
export async function submitVideo(
  pool: EnginePool,
  body: VideoBody,
  { requestId, trace, signal }: { requestId: string; trace?: TraceContext | null; signal: AbortSignal },
): Promise<EngineVideo> {
  const answer = await ask(pool, {
    path: PATH,
    method: 'POST',
    headers: { ...body.headers, accept: 'application/json', 'x-request-id': requestId, ...trace?.headers },
    body: body.body,
    signal,
    headersTimeout: SUBMISSION_TIMEOUT_MS,
  });
  if (answer.status >= 300) throw readEngineError(answer.status, answer.body);
  return readVideo(answer.body);
}

/** null: the engine has no such video (anymore). Throws ApiError or EngineConnectionError, both possibly transient. */
export async function pollVideo(
  pool: EnginePool,
  id: string,
  signal?: AbortSignal,
): Promise<EngineVideo | null> {
  const answer = await ask(pool, {
    path: pathOf(id),
    method: 'GET',
    signal,
    headersTimeout: ANSWER_TIMEOUT_MS,
  });
  if (answer.status < 300) return readVideo(answer.body);
  // vLLM-Omni returns a failed video with the status of its failure, and the video as the body.
  const failed = findFailedVideo(answer.body, id);
  if (failed || answer.status === 404) return failed;
  throw readEngineError(answer.status, answer.body);
}

/** The video's bytes as a stream. Throws ApiError or EngineConnectionError; reading may throw anything. */
export async function openContent(pool: EnginePool, id: string, signal: AbortSignal): Promise<Readable> {
  const response = await requestEngine(pool, {
    path: `${pathOf(id)}/content`,
    method: 'GET',
    signal,
    headersTimeout: CONTENT_IDLE_TIMEOUT_MS,
    bodyTimeout: CONTENT_IDLE_TIMEOUT_MS,
  });
  if (response.statusCode === 200) return response.body;
  throw readEngineError(
    response.statusCode,
    await readResponse(response.body, { maxBytes: MAX_ANSWER_BYTES, signal }),
  );
}

/** Deletes a video at the engine, which may still work on it. True: it no longer exists. */
export async function deleteVideo(pool: EnginePool, id: string): Promise<boolean> {
  const { status } = await ask(pool, {
    path: pathOf(id),
    method: 'DELETE',
    headersTimeout: ANSWER_TIMEOUT_MS,
  });
  return status < 300 || status === 404;
}

const PATH = '/v1/videos';
const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

const ask = (pool: EnginePool, request: EngineRequest): Promise<{ status: number; body: Buffer }> =>
  fetchFromEngine(pool, { bodyTimeout: ANSWER_TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES, ...request });

function findFailedVideo(body: Buffer, id: string): EngineVideo | null {
  try {
    const video = readVideo(body);
    return video.id === id && video.state === 'failed' ? video : null;
  } catch {
    return null;
  }
}

function readVideo(body: Buffer): EngineVideo {
  const video = parse(body);
  const { id, status, progress, error } = video;
  if (typeof id !== 'string' || id === '' || typeof status !== 'string')
    throw findEngineError(video) ?? new ApiError('upstream_error', 'The engine returned no video.');
  const isBad = FAILURE_STATES.has(status);
  return {
    id,
    state: SUCCESS_STATES.has(status) ? 'completed' : isBad ? 'failed' : 'working',
    progress: typeof progress === 'number' && Number.isFinite(progress) ? progress : 0,
    failure: isBad
      ? readEngineError(readStatus(error), Buffer.from(JSON.stringify({ error: error ?? '' })))
      : null,
  };
}

/** With it, vLLM-Omni indicates whether the request or the engine was at fault. */
function readStatus(error: unknown): number {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'number' && code >= 400 ? code : 500;
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = isTooDeep(body) ? null : JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {}
  throw new ApiError('upstream_error', 'The engine returned something other than a JSON object.');
}

/** A reference image of a video, on disk. */
export interface ReferenceFile extends PartFile {
  fileName: string;
}

/** A form, or JSON if an old engine accepts no form without a file. */
export interface VideoBody {
  headers: Record<string, string>;
  body: EngineBody;
}

/** `name`: the engine's field for several references. */
export function buildVideoForm(
  servedModelName: string,
  parameters: VideoParameters,
  references: { files: readonly ReferenceFile[]; name: string },
): VideoBody {
  const fields = Object.entries(listFields(servedModelName, parameters)).map(
    ([name, value]) => [name, writeFormValue(value)] as const,
  );
  const name = references.files.length > 1 ? references.name : 'input_reference';
  const parts = references.files.map((file) => ({
    name,
    fileName: file.fileName.replace(/[^\w.-]/g, '_').slice(-100),
    file,
  }));
  return buildForm(fields, parts);
}

export function buildVideoJSON(servedModelName: string, parameters: VideoParameters): VideoBody {
  const body = Buffer.from(JSON.stringify(listFields(servedModelName, parameters)));
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    body,
  };
}

/** Never `seconds`: engines disagree about its type, and frames are exact. */
function listFields(servedModelName: string, parameters: VideoParameters): Record<string, unknown> {
  const { prompt, size, frames, fps } = parameters;
  return {
    model: servedModelName,
    prompt,
    size,
    num_frames: frames,
    fps,
    ...listExtraFields(parameters),
  };
}
