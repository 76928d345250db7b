/** One call of an image engine, for requests that wait and for jobs of the queue alike. */
import type { Dispatcher } from 'undici';
import type { EngineTarget } from '../capacity/capacity.ts';
import { sniffMediaType } from '../egress/media-type.ts';
import { ApiError } from '../http/error-response.ts';
import { type EnginePool, isNotConnected } from './engine-call.ts';
import { EngineUnreachableError, findEngineError, readEngineError } from './engine-error.ts';
import { buildEditBody, buildGenerationBody, type ImageBody, type ImageFile } from './image-body.ts';
import type { ImageParameters } from './job.ts';

export interface ImageCall {
  /** Connections to the target's origin. */
  pool: EnginePool;
  target: Pick<EngineTarget, 'pathPrefix' | 'headers'>;
  requestId: string;
  /** The engine's own name of the model. */
  servedModelName: string;
  parameters: ImageParameters;
  /** Of an edit. */
  images: readonly ImageFile[];
  mask: ImageFile | null;
  /** Breaks the connection off, which is all that stops an engine. */
  signal: AbortSignal;
  /** The engine has let go, or was told to; called exactly once. */
  onRelease: () => void;
  /** Asks for the memory of an answer of so many bytes; false where there is none. */
  reserve?: (bytes: number) => boolean | Promise<boolean>;
}

export interface GeneratedImage {
  bytes: Buffer;
  /** By its bytes: image/png, image/jpeg or image/webp. */
  contentType: string;
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Most answers are not much larger, and need no account. */
const SMALL_ANSWER_BYTES = 1024 * 1024;
const BUSY_RETRY_SECONDS = 5;
const MAX_ERROR_BYTES = 64 * 1024;
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/webp']);

/**
 * As many images as were asked for. Throws ApiError (an EngineMemoryError where the engine ran out of memory, an
 * EngineUnreachableError where it was never asked), or the signal's reason.
 */
export async function generateImages(call: ImageCall): Promise<GeneratedImage[]> {
  const { servedModelName, parameters, images, mask } = call;
  const body =
    parameters.task === 'txt2img'
      ? buildGenerationBody(servedModelName, parameters)
      : buildEditBody(servedModelName, parameters, { images, mask });
  let answer: Buffer;
  try {
    answer = await ask(call, body);
  } finally {
    call.onRelease();
  }
  return readImages(answer, parameters.n);
}

async function ask(call: ImageCall, body: ImageBody): Promise<Buffer> {
  let hasAnswered = false;
  try {
    const { statusCode, body: answer } = await send(call, body);
    hasAnswered = true;
    if (statusCode === 200) return await collect(answer, call.reserve);
    throw readEngineError(statusCode, await collectStart(answer));
  } catch (error) {
    call.signal.throwIfAborted();
    if (error instanceof ApiError || isFileFault(error)) throw error;
    throw describeConnectionLoss(error, hasAnswered);
  }
}

async function send(call: ImageCall, body: ImageBody): Promise<Dispatcher.ResponseData> {
  const { pool, target, requestId, signal } = call;
  const request = () =>
    pool.request({
      path: target.pathPrefix + body.path,
      method: 'POST',
      headers: {
        ...body.headers,
        accept: 'application/json',
        'x-request-id': requestId,
        ...target.headers,
      },
      body: body.open(),
      signal,
    });
  try {
    return await request();
  } catch (error) {
    // Nothing has been sent on a connection that was refused, so once more does no harm.
    if (!isNotConnected(error) || signal.aborted) throw error;
    return await request();
  }
}

async function collect(source: AsyncIterable<Buffer>, reserve: ImageCall['reserve']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new ApiError('upstream_error', `The engine's response exceeds ${MAX_ANSWER_BYTES} bytes.`);
    if (bytes > SMALL_ANSWER_BYTES && reserve && !(await reserve(bytes)))
      throw new ApiError(
        'temporarily_unavailable',
        'Too many large responses are in progress at the moment.',
        {
          retryAfter: BUSY_RETRY_SECONDS,
        },
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** What an error says beyond its start, or breaks off, is not worth waiting for. */
async function collectStart(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of source) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ERROR_BYTES) break;
    }
  } catch {}
  return Buffer.concat(chunks, bytes).subarray(0, MAX_ERROR_BYTES);
}

function readImages(answer: Buffer, wanted: number): GeneratedImage[] {
  const value = parse(answer);
  const failure = findEngineError(value);
  if (failure) throw failure;
  const data = (value as { data?: unknown } | null)?.data;
  const images = (Array.isArray(data) ? data : []).slice(0, wanted).map(decodeImage);
  if (images.length < wanted)
    throw new ApiError('upstream_error', `The engine returned ${images.length} of ${wanted} images.`);
  return images;
}

const DATA_URL = /^data:[^,]{0,100},/;

function decodeImage(item: unknown): GeneratedImage {
  const text = (item as { b64_json?: unknown } | null)?.b64_json;
  if (typeof text !== 'string' || text === '')
    throw new ApiError('upstream_error', 'The engine returned no image.');
  const [prefix = ''] = DATA_URL.exec(text) ?? [];
  const bytes = Buffer.from(text.slice(prefix.length), 'base64');
  const contentType = sniffMediaType(bytes, 'image');
  if (contentType === null || !IMAGE_TYPES.has(contentType))
    throw new ApiError(
      'upstream_error',
      'The engine returned something other than a PNG, JPEG or WebP image.',
    );
  return { bytes, contentType };
}

function parse(answer: Buffer): unknown {
  try {
    return JSON.parse(answer.toString('utf8'));
  } catch {
    throw new ApiError('upstream_error', 'The engine returned something other than JSON.');
  }
}

/** Our own disk failed, not the engine. */
const isFileFault = (error: unknown): boolean => (error as NodeJS.ErrnoException).path !== undefined;

function describeConnectionLoss(error: unknown, hasAnswered: boolean): ApiError {
  if (isNotConnected(error)) return new EngineUnreachableError();
  return new ApiError(
    'upstream_error',
    hasAnswered
      ? 'The engine closed the connection before its response was complete.'
      : 'The engine closed the connection without a response.',
  );
}
