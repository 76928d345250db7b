/** Requests to an engine whose response is read as a whole; text uses `engine-call.ts`, which streams. */
import type { Dispatcher } from 'undici';
import { BodyTooLargeError, readBody, takeBody } from '../../kit/bounded-body.ts';
import { isNotConnected, readConnectionFailure } from '../../kit/connection-error.ts';
import { type KeptBody, toDispatchBody } from '../../kit/kept-body.ts';
import { ApiError } from '../http/error-response.ts';

/** It can be sent again. */
export type EngineBody = Buffer | KeptBody;

export interface EngineRequest extends Omit<Dispatcher.RequestOptions, 'body' | 'signal'> {
  body?: EngineBody;
  signal?: AbortSignal | undefined;
}

/** A connection failure, as opposed to an engine's error. */
export class EngineConnectionError extends Error {
  /** No connection was established: nothing was sent. */
  readonly isRefused: boolean;
  /** It timed out: the engine may be busy. */
  readonly isTimeout: boolean;

  constructor(cause: unknown) {
    super('The engine did not respond.', { cause });
    const failure = readConnectionFailure(cause);
    this.isRefused = isNotConnected(cause);
    this.isTimeout = failure === 'connect_timeout' || failure === 'response_timeout';
  }
}

const MAX_ATTEMPTS = 2;

/** Whether to resend a request after so many attempts: without a connection nothing was sent, so it is safe. */
export const canResend = (error: unknown, attempts: number): boolean =>
  attempts < MAX_ATTEMPTS && isNotConnected(error);

/** Throws EngineConnectionError, the signal's reason, or the error of a file that was to be sent. */
export async function requestEngine(
  pool: Pick<Dispatcher, 'request'>,
  { body, ...options }: EngineRequest,
): Promise<Dispatcher.ResponseData> {
  for (let attempts = 1; ; attempts++)
    try {
      return await pool.request({ ...options, ...(body && { body: toDispatchBody(body) }) });
    } catch (error) {
      if (options.signal?.aborted || !canResend(error, attempts))
        throw toConnectionError(error, options.signal);
    }
}

/** Requests and reads the response, whatever its status. Throws what `requestEngine` and `readResponse` throw. */
export async function fetchFromEngine(
  pool: Pick<Dispatcher, 'request'>,
  { maxBytes, ...request }: EngineRequest & { maxBytes: number },
): Promise<{ status: number; body: Buffer }> {
  const { statusCode, body } = await requestEngine(pool, request);
  return { status: statusCode, body: await readResponse(body, { maxBytes, signal: request.signal }) };
}

export interface ResponseOptions {
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** Throws ApiError for a response over `maxBytes`, EngineConnectionError or the signal's reason. */
export const readResponse = (body: AsyncIterable<Buffer>, options: ResponseOptions): Promise<Buffer> =>
  reportFailure(options, () => readBody(body, options.maxBytes));

/** `take` is awaited with each part and the size with it. Throws what it throws, and what `readResponse` throws. */
export const takeResponse = (
  body: AsyncIterable<Buffer>,
  options: ResponseOptions,
  take: (chunk: Buffer, bytes: number) => Promise<void> | void,
): Promise<void> => reportFailure(options, () => takeBody(body, options.maxBytes, take));

async function reportFailure<R>({ maxBytes, signal }: ResponseOptions, read: () => Promise<R>): Promise<R> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof BodyTooLargeError)
      throw new ApiError('upstream_error', `The engine's response exceeds ${maxBytes} bytes.`);
    throw toConnectionError(error, signal);
  }
}

function toConnectionError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  // An error with a path concerns a local file.
  const isOwn = error instanceof ApiError || (error as NodeJS.ErrnoException).path !== undefined;
  return isOwn ? error : new EngineConnectionError(error);
}
