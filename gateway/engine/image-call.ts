/** One call of an image engine, for synchronous requests and queued jobs alike. */
import { readBodyStart } from '../../kit/bounded-body.ts';
import { isTooDeep } from '../../kit/json-cost.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import { sniffMediaType } from '../egress/media-type.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { TraceContext } from '../tracing/span.ts';
import { EngineConnectionError, requestEngine, takeResponse } from '../upstream/engine-request.ts';
import { Base64Reader } from './base64-reader.ts';
import type { EnginePool } from './engine-call.ts';
import {
  describeConnectionLoss,
  EngineMemoryError,
  findEngineError,
  readEngineError,
} from './engine-error.ts';
import { buildEditBody, buildGenerationBody, type EditFiles, type ImageBody } from './image-body.ts';
import type { ImageParameters } from './job.ts';
import type { MemoryWatch } from './memory-mark.ts';

export interface ImageCall {
  /** Connections to the target's origin. */
  pool: EnginePool;
  target: Pick<EngineTarget, 'pathPrefix' | 'headers'>;
  requestId: string;
  /** Trace of the caller, who waits for the image. */
  trace?: TraceContext | null;
  /** The engine's own name of the model. */
  servedModelName: string;
  parameters: ImageParameters;
  /** The input images of an edit, and its mask. */
  files: EditFiles;
  /** Closes the connection, the only way to stop an engine. */
  signal: AbortSignal;
  /** The engine has finished or was aborted; called exactly once. */
  onRelease: () => void;
  /** Reserves memory for a response of so many bytes; false if there is none. */
  reserve?: (bytes: number) => boolean | Promise<boolean>;
  /** Memory watch of the called engine; null or absent: it does not report it. */
  ranOutOfMemory?: MemoryWatch | null;
}

export interface GeneratedImage {
  bytes: Buffer;
  /** Detected from its bytes: image/png, image/jpeg or image/webp. */
  contentType: string;
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Most responses are not much larger, and are not accounted for. */
const SMALL_ANSWER_BYTES = 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/webp']);

/**
 * As many images as requested. Throws ApiError (an EngineMemoryError if the engine ran out of memory, an
 * EngineUnreachableError if it never received the request), or the signal's reason.
 */
export async function generateImages(call: ImageCall): Promise<GeneratedImage[]> {
  const { servedModelName, parameters, files } = call;
  const body =
    parameters.task === 'txt2img'
      ? buildGenerationBody(servedModelName, parameters)
      : buildEditBody(servedModelName, parameters, files);
  let answer: Base64Reader;
  try {
    answer = await ask(call, body);
  } finally {
    call.onRelease();
  }
  return readImages(answer, parameters.n);
}

async function ask(call: ImageCall, body: ImageBody): Promise<Base64Reader> {
  const { pool, target, requestId, trace, signal } = call;
  const startedAt = Date.now();
  let hasResponded = false;
  try {
    const response = await requestEngine(pool, {
      path: target.pathPrefix + body.path,
      method: 'POST',
      headers: {
        ...body.headers,
        accept: 'application/json',
        'x-request-id': requestId,
        ...trace?.headers,
        ...target.headers,
      },
      body: body.body,
      signal,
    });
    hasResponded = true;
    if (response.statusCode === 200) {
      const reader = new Base64Reader(
        Math.min(Number(response.headers['content-length'] ?? 0), MAX_ANSWER_BYTES),
      );
      await takeResponse(
        response.body,
        { maxBytes: MAX_ANSWER_BYTES, signal },
        async (chunk: Buffer, bytes) => {
          await reserve(call, bytes);
          reader.write(chunk);
        },
      );
      return reader;
    }
    const start = await readBodyStart(response.body, MAX_ERROR_BYTES);
    signal.throwIfAborted();
    const error = readEngineError(response.statusCode, start);
    throw isBare(start) ? await explain(call, startedAt) : error;
  } catch (error) {
    throw error instanceof EngineConnectionError ? describeConnectionLoss(error.cause, hasResponded) : error;
  }
}

/** A web server's response to an uncaught exception of the engine: the reason is only in its log. */
const BARE_FAILURE = /^\s*internal server error\s*$/i;

const isBare = (body: Buffer): boolean => BARE_FAILURE.test(body.toString('latin1', 0, 100));

async function explain({ ranOutOfMemory }: ImageCall, startedAt: number): Promise<ApiError> {
  if (await ranOutOfMemory?.(startedAt))
    return new EngineMemoryError('try a smaller `size`, or fewer images. See its log for the cause.');
  return new ApiError(
    'upstream_error',
    'The engine failed without a reason. It may lack GPU memory: try a smaller `size`, or fewer images. See its log for the cause.',
  );
}

async function reserve(call: ImageCall, bytes: number): Promise<void> {
  if (bytes <= SMALL_ANSWER_BYTES || !call.reserve || (await call.reserve(bytes))) return;
  throw refuseAsUnavailable('memory', 'Too many large responses are in progress at the moment.');
}

function readImages(answer: Base64Reader, wanted: number): GeneratedImage[] {
  const value = parse(answer.end());
  const failure = findEngineError(value);
  if (failure) throw failure;
  const data = (value as { data?: unknown } | null)?.data;
  const images = (Array.isArray(data) ? data : []).slice(0, wanted).map((item) => readImage(item, answer));
  if (images.length < wanted)
    throw new ApiError('upstream_error', `The engine returned ${images.length} of ${wanted} images.`);
  return images;
}

const DATA_URL = /^data:[^,]{0,100},/;

function readImage(item: unknown, answer: Base64Reader): GeneratedImage {
  const text = (item as { b64_json?: unknown } | null)?.b64_json;
  if (typeof text !== 'string' || text === '')
    throw new ApiError('upstream_error', 'The engine returned no image.');
  const bytes = answer.find(text) ?? decode(text);
  const contentType = sniffMediaType(bytes, 'image');
  if (contentType === null || !IMAGE_TYPES.has(contentType))
    throw new ApiError(
      'upstream_error',
      'The engine returned something other than a PNG, JPEG or WebP image.',
    );
  return { bytes, contentType };
}

function decode(text: string): Buffer {
  const [prefix = ''] = DATA_URL.exec(text) ?? [];
  return Buffer.from(text.slice(prefix.length), 'base64');
}

function parse(answer: string): unknown {
  try {
    if (!isTooDeep(Buffer.from(answer))) return JSON.parse(answer);
  } catch {}
  throw new ApiError('upstream_error', 'The engine returned something other than JSON.');
}
