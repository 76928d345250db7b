/** The video routes of an engine, one call each (OpenAI's videos API as SGLang Diffusion and vLLM-Omni serve it). */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ApiError } from '../http/error-response.ts';
import type { EnginePool } from './engine-call.ts';
import { findEngineError, readEngineError } from './engine-error.ts';
import type { VideoBody } from './video-body.ts';

export interface EngineVideo {
  id: string;
  state: 'working' | 'completed' | 'failed';
  /** Percent; 0 where the engine says nothing. */
  progress: number;
  /** Why it failed. */
  failure: ApiError | null;
}

/** What happened to a connection, not what the engine said. */
export class EngineConnectionError extends Error {
  /** No connection came about: nothing was sent. */
  readonly isRefused: boolean;
  /** It took too long: the engine may be busy. */
  readonly isTimeout: boolean;

  constructor(cause: unknown) {
    super('The engine did not respond.', { cause });
    const code = String((cause as NodeJS.ErrnoException).code);
    this.isRefused = NOT_CONNECTED.has(code);
    this.isTimeout = TIMEOUTS.has(code);
  }
}

const NOT_CONNECTED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);
const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']);
const SUBMISSION_TIMEOUT_MS = 120_000;
const ANSWER_TIMEOUT_MS = 5_000;
const CONTENT_IDLE_TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const SUCCESS_STATES = new Set(['completed', 'succeeded']);
const FAILURE_STATES = new Set(['failed', 'canceled', 'cancelled', 'expired', 'error']);

/** Throws ApiError where the engine refuses, EngineConnectionError where it does not answer. */
export async function submitVideo(
  pool: EnginePool,
  body: VideoBody,
  { requestId, signal }: { requestId: string; signal: AbortSignal },
): Promise<EngineVideo> {
  const headers = { ...body.headers, accept: 'application/json', 'x-request-id': requestId };
  const send = () =>
    ask(pool, {
      path: PATH,
      method: 'POST',
      headers,
      body: body.open(),
      signal,
      headersTimeout: SUBMISSION_TIMEOUT_MS,
    });
  const answer = await send().catch((error) => {
    // Nothing has been sent on a connection that was refused, so once more does no harm.
    if (error instanceof EngineConnectionError && error.isRefused && !signal.aborted) return send();
    throw error;
  });
  if (answer.status >= 300) throw readEngineError(answer.status, answer.body);
  return readVideo(answer.body);
}

/** null: the engine knows no such video (any more). Throws ApiError or EngineConnectionError, and both may pass. */
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
  if (answer.status === 404) return null;
  if (answer.status >= 300) throw readEngineError(answer.status, answer.body);
  return readVideo(answer.body);
}

/** The video's bytes as they come. Throws ApiError or EngineConnectionError; reading may throw anything. */
export async function openContent(pool: EnginePool, id: string, signal: AbortSignal): Promise<Readable> {
  const response = await request(pool, {
    path: `${pathOf(id)}/content`,
    method: 'GET',
    signal,
    headersTimeout: CONTENT_IDLE_TIMEOUT_MS,
    bodyTimeout: CONTENT_IDLE_TIMEOUT_MS,
  });
  if (response.statusCode === 200) return response.body;
  throw readEngineError(response.statusCode, await readBody(response));
}

/** Has the engine forget a video, and stop work on it where it can. True: it knows it no more. */
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

type Options = Dispatcher.RequestOptions;

async function request(pool: EnginePool, options: Options): Promise<Dispatcher.ResponseData> {
  try {
    return await pool.request({ bodyTimeout: ANSWER_TIMEOUT_MS, ...options });
  } catch (error) {
    throw toConnectionError(error, options);
  }
}

async function ask(pool: EnginePool, options: Options): Promise<{ status: number; body: Buffer }> {
  const response = await request(pool, options);
  try {
    return { status: response.statusCode, body: await readBody(response) };
  } catch (error) {
    throw toConnectionError(error, options);
  }
}

function toConnectionError(error: unknown, { signal }: Options): unknown {
  if (signal instanceof AbortSignal && signal.aborted) return signal.reason;
  // An error with a path is of a file of ours.
  const isOurs = error instanceof ApiError || (error as NodeJS.ErrnoException).path !== undefined;
  return isOurs ? error : new EngineConnectionError(error);
}

async function readBody({ body }: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new ApiError('upstream_error', `The engine's response exceeds ${MAX_ANSWER_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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
    failure: isBad ? readEngineError(500, Buffer.from(JSON.stringify({ error: error ?? '' }))) : null,
  };
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {}
  throw new ApiError('upstream_error', 'The engine returned something other than a JSON object.');
}
