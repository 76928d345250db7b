/** Requests to an engine whose response is read as a whole; text goes through `engine-call.ts`, which streams. */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { BodyTooLargeError, readBody } from '../../kit/bounded-body.ts';
import { ApiError } from '../http/error-response.ts';
import { isNotConnected, readErrorCode } from '../upstream/connection-error.ts';
import type { EnginePool } from './engine-call.ts';

export interface EngineRequest extends Omit<Dispatcher.RequestOptions, 'body' | 'signal'> {
  /** A fresh body each time: a request whose connection was refused is sent once more. */
  open?: () => Buffer | Readable;
  signal?: AbortSignal | undefined;
}

/** What happened to the connection, not what the engine said. */
export class EngineConnectionError extends Error {
  /** No connection was established: nothing was sent. */
  readonly isRefused: boolean;
  /** It took too long: the engine may be busy. */
  readonly isTimeout: boolean;

  constructor(cause: unknown) {
    super('The engine did not respond.', { cause });
    this.isRefused = isNotConnected(cause);
    this.isTimeout = TIMEOUTS.has(readErrorCode(cause));
  }
}

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']);

/** Throws EngineConnectionError, the signal's reason, or the error of a file that was to be sent. */
export async function requestEngine(
  pool: EnginePool,
  { open, ...options }: EngineRequest,
): Promise<Dispatcher.ResponseData> {
  const send = () => pool.request({ ...options, ...(open && { body: open() }) });
  try {
    return await send().catch((error) => {
      // Nothing was sent on a connection that was refused, so a retry does no harm.
      if (!open || !isNotConnected(error) || options.signal?.aborted) throw error;
      return send();
    });
  } catch (error) {
    throw toConnectionError(error, options.signal);
  }
}

/** Throws ApiError for a response over `maxBytes`, what `onBytes` throws, EngineConnectionError or the signal's reason. */
export async function readResponse(
  body: AsyncIterable<Buffer>,
  {
    maxBytes,
    onBytes,
    signal,
  }: { maxBytes: number; onBytes?: (bytes: number) => Promise<void>; signal?: AbortSignal | undefined },
): Promise<Buffer> {
  try {
    return await readBody(body, maxBytes, onBytes);
  } catch (error) {
    if (error instanceof BodyTooLargeError)
      throw new ApiError('upstream_error', `The engine's response exceeds ${maxBytes} bytes.`);
    throw toConnectionError(error, signal);
  }
}

function toConnectionError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  // An error with a path is of a file of ours.
  const isOwn = error instanceof ApiError || (error as NodeJS.ErrnoException).path !== undefined;
  return isOwn ? error : new EngineConnectionError(error);
}
