/** Reads a JSON body within its limits of size and time. */
import { isUtf8 } from 'node:buffer';
import { ApiError } from '../error-response.ts';
import type { Exchange } from '../exchange.ts';

export interface JsonBody {
  raw: Buffer;
  text: string;
  value: Record<string, unknown>;
}

export interface BodyLimits {
  jsonBodyBytes: number;
  bodyTimeoutMs: number;
}

/** Throws ApiError; ClientGone when the client leaves before the end. */
export async function readJsonBody(exchange: Exchange, limits: BodyLimits): Promise<JsonBody> {
  checkHeaders(exchange, limits);
  const raw = takeBuffered(exchange, limits) ?? (await readBytes(exchange, limits));
  if (!isUtf8(raw)) throw new ApiError('invalid_json', 'The body is not valid UTF-8.');
  const text = raw.toString('utf8');
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('invalid_json', 'The body must be a JSON object.');
  return { raw, text, value: value as Record<string, unknown> };
}

function checkHeaders({ req }: Exchange, { jsonBodyBytes }: BodyLimits): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_encoding',
      `Content-Encoding ${encoding.slice(0, 50)} is not supported: send the body as it is.`,
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
  new ApiError('request_too_large', `The body is over the limit of ${limit} bytes.`);

/** A small body has mostly arrived by the time its key is checked: then no listeners and no timer are needed. */
function takeBuffered({ req }: Exchange, { jsonBodyBytes }: BodyLimits): Buffer | null {
  if (!req.complete || req.readableFlowing !== null) return null;
  const raw = (req.read() as Buffer | null) ?? Buffer.alloc(0);
  if (raw.length > jsonBodyBytes) throw refuseSize(jsonBodyBytes);
  return raw;
}

function readBytes(exchange: Exchange, { jsonBodyBytes, bodyTimeoutMs }: BodyLimits): Promise<Buffer> {
  const { req } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (error: Error | null) => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd);
      exchange.onCancel(null);
      if (error) reject(error);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > jsonBodyBytes) finish(refuseSize(jsonBodyBytes));
    };
    const onEnd = () => finish(null);
    const timer = setTimeout(() => {
      finish(new ApiError('request_timeout', `The body did not arrive within ${bodyTimeoutMs / 1000} s.`));
    }, bodyTimeoutMs);
    req.on('data', onData).on('end', onEnd);
    exchange.onCancel(finish);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') throw new ApiError('invalid_json', 'The body is empty: send a JSON object.');
    throw new ApiError('invalid_json', `The body is not valid JSON: ${(error as Error).message}.`);
  }
}
