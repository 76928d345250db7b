/** Reads a JSON body within its limits of size, time and memory. */
import { readArrivedBody } from '../../kit/arrived-body.ts';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import type { Share, Shares } from '../../kit/shares.ts';
import { processBodies } from './body-memory.ts';
import {
  type JsonBody,
  ownerOf,
  type Parties,
  parseBody,
  parseInTurns,
  parsingTurns,
  refuseReservation,
  SMALL_BYTES,
} from './body-parsing.ts';
import { ApiError } from './error-response.ts';
import type { Exchange } from './exchange.ts';

/** Parsing takes less than the rest of a request, so it takes no turn. */
const UNCOUNTED_BYTES = 4 * 1024;

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
  memory?: Shares;
}

/** Synchronous if the body has arrived. Fails with ApiError, or ClientDisconnectedError if the client disconnects early. */
export function readJsonBody<T>(state: Parties, reading: BodyReading<T>): T | Promise<T> {
  const { exchange } = state;
  const { interpret, memory = processBodies } = reading;
  const limits = limitToMemory(reading.limits, memory);
  checkHeaders(exchange, limits);
  const buffered = takeBuffered(exchange, limits);
  return buffered
    ? readBuffered(state, buffered, interpret)
    : awaitJsonBody(state, reading, { limits, memory });
}

function readBuffered<T>(state: Parties, body: Buffer, interpret: (body: JsonBody) => T): T | Promise<T> {
  if (body.length <= UNCOUNTED_BYTES) return interpret(parseBody(body));
  return body.length > SMALL_BYTES
    ? parsingTurns.run(ownerOf(state), parseInTurns(state, body, interpret))
    : parsingTurns.take(ownerOf(state), () => {
        state.exchange.check();
        return interpret(parseBody(body));
      });
}

async function awaitJsonBody<T>(
  state: Parties,
  reading: BodyReading<T>,
  { limits, memory }: { limits: BodyLimits; memory: Shares },
): Promise<T> {
  const { exchange } = state;
  const { interpret } = reading;
  const arrived = await readArrivedBody(exchange.req);
  exchange.check();
  if (arrived) return readBuffered(state, arrived, interpret);
  const lease = openLease(state, memory);
  try {
    const body = await readBytes(exchange, limits, lease);
    const result = await readBuffered(state, body, interpret);
    if (!reading.isKept) lease.release();
    return result;
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** A body that can never fit is refused at once rather than after a wait. */
const limitToMemory = ({ jsonBodyBytes, bodyTimeoutMs }: BodyLimits, memory: Shares): BodyLimits => ({
  jsonBodyBytes: Math.min(jsonBodyBytes, memory.maxAmount),
  bodyTimeoutMs,
});

/** Released with the response. */
export function openLease(parties: Parties, memory = processBodies): Share {
  const { exchange } = parties;
  const lease = memory.open(ownerOf(parties));
  exchange.res.once('close', () => lease.release());
  return lease;
}

function checkHeaders({ req }: Exchange, { jsonBodyBytes }: BodyLimits): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_encoding',
      `Content-Encoding ${encoding.slice(0, 50)} is not supported: send the body uncompressed.`,
    );
  const type = req.headers['content-type'];
  if (type && !isJsonType(type))
    throw new ApiError(
      'unsupported_media_type',
      `Content-Type must be application/json, not ${type.slice(0, 100)}.`,
    );
  if (Number(req.headers['content-length'] ?? 0) > jsonBodyBytes) throw refuseSize(jsonBodyBytes);
}

/** Checks a Content-Type; false without one. */
export const isJsonType = (type: string | undefined): boolean => JSON_TYPES.test(type ?? '');

const JSON_TYPES = /^\s*(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;

const refuseSize = (limit: number) =>
  new ApiError('request_too_large', `The body exceeds the limit of ${limit} bytes.`);

/** A small body has usually arrived: then no listeners and no timer are needed. */
function takeBuffered({ req }: Exchange, { jsonBodyBytes }: BodyLimits): Buffer | null {
  if (!req.complete || req.readableFlowing !== null) return null;
  const raw = (req.read() as Buffer | null) ?? Buffer.alloc(0);
  if (raw.length > jsonBodyBytes) throw refuseSize(jsonBodyBytes);
  return raw;
}

/** Memory for a body of known length is reserved before it is read; otherwise it grows in steps. */
const STEP_BYTES = 1024 * 1024;

async function readBytes(exchange: Exchange, limits: BodyLimits, lease: Share): Promise<Buffer> {
  const announced = Number(exchange.req.headers['content-length'] ?? SMALL_BYTES);
  if (announced > SMALL_BYTES) await untilReserved(exchange, lease.grow(announced));
  const raw = await collectBytes(exchange, limits, lease);
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

function collectBytes(
  exchange: Exchange,
  { jsonBodyBytes, bodyTimeoutMs }: BodyLimits,
  lease: Share,
): Promise<Buffer> {
  const { req } = exchange;
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(Number(req.headers['content-length'] ?? 0));
    let isDone = false;
    let stopListening: (() => void) | undefined;
    const finish = (error: Error | null) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd);
      stopListening?.();
      if (!error) return resolve(body.read());
      // The rest is discarded, so that a client that is still sending receives the response.
      req.resume();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      const size = body.length + chunk.length;
      if (size > jsonBodyBytes) return finish(refuseSize(jsonBodyBytes));
      body.add(chunk);
      if (size <= lease.amount || size <= SMALL_BYTES) return;
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
