/** Reads a JSON body within its limits of size, time and memory. */
import { isAscii, isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { parseForeignJson } from '../../kit/json.ts';
import { findJsonFault, MAX_JSON_DEPTH } from '../../kit/json-cost.ts';
import { type BodyLease, type BodyMemory, MAX_PARSED_BYTES, processBodies } from './body-memory.ts';
import { ApiError } from './error-response.ts';
import type { Exchange, GatewayState } from './exchange.ts';

export interface JsonBody {
  raw: Buffer;
  text: string;
  value: Record<string, unknown>;
}

export interface BodyLimits {
  jsonBodyBytes: number;
  bodyTimeoutMs: number;
}

export interface BodyReading<T> {
  limits: BodyLimits;
  /** Converts the body: the body itself is freed before anything else happens. */
  interpret: (body: JsonBody) => T;
  /** Whether the result holds as much memory as the body did, until the response is sent. */
  isKept?: boolean;
  memory?: BodyMemory;
}

/** No more than a connection buffers anyway, so it is neither accounted for nor checked before parsing. */
const SMALL_BYTES = 16 * 1024;
/** Above this, one body is parsed per turn of the event loop, so that other requests are served in between. */
const LARGE_BYTES = 1024 * 1024;

/** Synchronous if the body has arrived. Fails with ApiError, or ClientDisconnectedError if the client disconnects early. */
export function readJsonBody<T>(state: Parties, reading: BodyReading<T>): T | Promise<T> {
  const { exchange } = state;
  const { interpret, memory = processBodies } = reading;
  const limits = limitToMemory(reading.limits, memory);
  checkHeaders(exchange, limits);
  const buffered = takeBuffered(exchange, limits);
  return buffered ? interpret(parseBody(buffered)) : awaitJsonBody(state, reading, { limits, memory });
}

async function awaitJsonBody<T>(
  state: Parties,
  reading: BodyReading<T>,
  { limits, memory }: { limits: BodyLimits; memory: BodyMemory },
): Promise<T> {
  const { exchange } = state;
  const { interpret } = reading;
  const lease = openLease(state, memory);
  try {
    const result = interpret(parseBody(await readBytes(exchange, limits, lease)));
    if (!reading.isKept) lease.release();
    return result;
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** A body that can never fit is refused at once rather than after a wait. */
const limitToMemory = ({ jsonBodyBytes, bodyTimeoutMs }: BodyLimits, memory: BodyMemory): BodyLimits => ({
  jsonBodyBytes: Math.min(jsonBodyBytes, memory.maxBodyBytes),
  bodyTimeoutMs,
});

/** Released with the response. */
export function openLease({ exchange, tenant, keyHash }: Parties, memory = processBodies): BodyLease {
  const lease = memory.open(tenant ?? keyHash);
  exchange.res.once('close', () => lease.release());
  return lease;
}

/** A request, and whose share of memory it uses. */
export type Parties = Pick<GatewayState, 'exchange' | 'keyHash' | 'tenant'>;

function parseBody(body: Buffer): JsonBody {
  const raw = dropMark(body);
  if (!isUtf8(raw)) throw new ApiError('invalid_json', 'The body is not valid UTF-8.');
  if (raw.length > SMALL_BYTES) checkCost(raw);
  // ASCII, such as base64 images, is copied without decoding.
  const text = raw.toString(isAscii(raw) ? 'latin1' : 'utf8');
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('invalid_json', 'The body must be a JSON object.');
  return { raw, text, value: value as Record<string, unknown> };
}

function checkCost(raw: Buffer): void {
  const fault = findJsonFault(raw, MAX_PARSED_BYTES);
  if (fault === 'depth')
    throw new ApiError('invalid_json', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  if (fault === 'cost')
    throw new ApiError(
      'request_too_large',
      'The body has too many values for one request: send fewer or shorter lists, or split it into several requests.',
    );
}

/** Some editors start files with a byte order mark, which engines may not accept. */
const dropMark = (raw: Buffer): Buffer =>
  raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.subarray(3) : raw;

function checkHeaders({ req }: Exchange, { jsonBodyBytes }: BodyLimits): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_encoding',
      `Content-Encoding ${encoding.slice(0, 50)} is not supported: send the body uncompressed.`,
    );
  const type = req.headers['content-type'];
  if (type && !JSON_TYPES.test(type))
    throw new ApiError(
      'unsupported_media_type',
      `Content-Type must be application/json, not ${type.slice(0, 100)}.`,
    );
  if (Number(req.headers['content-length'] ?? 0) > jsonBodyBytes) throw refuseSize(jsonBodyBytes);
}

const JSON_TYPES = /^\s*(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;

const refuseSize = (limit: number) =>
  new ApiError('request_too_large', `The body exceeds the limit of ${limit} bytes.`);

/** A small body has usually arrived by the time its key is checked: then no listeners and no timer are needed. */
function takeBuffered({ req }: Exchange, { jsonBodyBytes }: BodyLimits): Buffer | null {
  if (!req.complete || req.readableFlowing !== null) return null;
  const raw = (req.read() as Buffer | null) ?? Buffer.alloc(0);
  if (raw.length > jsonBodyBytes) throw refuseSize(jsonBodyBytes);
  return raw;
}

/** Memory for a body of known length is reserved before it is read; otherwise it grows in steps. */
const STEP_BYTES = 1024 * 1024;

const refuseReservation = () =>
  new ApiError('temporarily_unavailable', 'Too many large requests are in progress at the moment.', {
    retryAfter: BUSY_RETRY_SECONDS,
  });
const BUSY_RETRY_SECONDS = 5;

async function readBytes(exchange: Exchange, limits: BodyLimits, lease: BodyLease): Promise<Buffer> {
  const announced = Number(exchange.req.headers['content-length'] ?? SMALL_BYTES);
  if (announced > SMALL_BYTES) await untilReserved(exchange, lease.grow(announced));
  const raw = await collectBytes(exchange, limits, lease);
  if (raw.length > LARGE_BYTES) await nextTurn();
  exchange.check();
  return raw;
}

/** Throws ApiError if there is none; rejects if the client disconnects meanwhile. */
export async function untilReserved(
  exchange: Exchange,
  reservation: boolean | Promise<boolean>,
): Promise<void> {
  const hasMemory = typeof reservation === 'boolean' ? reservation : await reservation;
  exchange.check();
  if (!hasMemory) throw refuseReservation();
}

let turn: Promise<unknown> = Promise.resolve();
const nextTurn = (): Promise<unknown> => {
  turn = turn.then(() => setImmediate());
  return turn;
};

function collectBytes(
  exchange: Exchange,
  { jsonBodyBytes, bodyTimeoutMs }: BodyLimits,
  lease: BodyLease,
): Promise<Buffer> {
  const { req } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isDone = false;
    let stopListening: (() => void) | undefined;
    const finish = (error: Error | null) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd);
      stopListening?.();
      if (!error) return resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
      // The rest is discarded, so that a client that is still sending receives the response.
      req.resume();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > jsonBodyBytes) return finish(refuseSize(jsonBodyBytes));
      if (size <= lease.bytes || size <= SMALL_BYTES) return;
      const reservation = lease.grow(Math.min(jsonBodyBytes, size + STEP_BYTES));
      if (reservation === true) return;
      req.pause();
      untilReserved(exchange, reservation).then(() => !isDone && req.resume(), finish);
    };
    const onEnd = () => finish(null);
    const timer = setTimeout(() => {
      finish(new ApiError('request_timeout', `The body did not arrive within ${bodyTimeoutMs / 1000} s.`));
    }, bodyTimeoutMs);
    req.on('data', onData).on('end', onEnd);
    stopListening = exchange.onCancel(finish);
  });
}

function parse(text: string): unknown {
  try {
    return parseForeignJson(text);
  } catch (error) {
    if (text.trim() === '') throw new ApiError('invalid_json', 'The body is empty: send a JSON object.');
    throw new ApiError('invalid_json', `The body is not valid JSON: ${(error as Error).message}.`);
  }
}
