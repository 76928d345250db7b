/** JSON bodies of the API, within limits of bytes and time, and what a schema says of them. */
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { FIELD_MESSAGES } from '../../../api/field-messages.ts';
import { BodyTooLargeError, readBody as readBytes } from '../../../kit/bounded-body.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../../kit/json-cost.ts';
import { ConsoleError } from './error.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** From the request headers to the end of the body. */
const BODY_TIMEOUT_MS = 15_000;

/** Reads a JSON body. Throws ConsoleError with the field in `param`. */
export async function readBody<S extends z.ZodType>(
  req: IncomingMessage,
  schema: S,
  timeoutMs = BODY_TIMEOUT_MS,
): Promise<z.output<S>> {
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw new ConsoleError('unsupported_media_type', 'The Content-Type must be application/json.');
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(new ConsoleError('request_timeout', `The body was not received within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  try {
    return check(parseJSON(await Promise.race([readBounded(req), late.promise])), schema);
  } finally {
    clearTimeout(timer);
  }
}

/** Validates query parameters the same way. */
export function check<S extends z.ZodType>(value: unknown, schema: S): z.output<S> {
  const result = schema.safeParse(value, FIELD_MESSAGES);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const field = issue.code === 'unrecognized_keys' ? issue.keys[0]! : issue.path.join('.');
  const subject = field === '' ? 'The body' : `${field}:`;
  throw new ConsoleError('invalid_request_error', `${subject} ${issue.message}.`, { param: field || null });
}

function parseJSON(body: Buffer): unknown {
  if (isTooDeep(body))
    throw new ConsoleError('invalid_json', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw new ConsoleError('invalid_json', `The body is not valid JSON: ${(error as Error).message}`);
  }
}

async function readBounded(req: IncomingMessage): Promise<Buffer> {
  // Keeps the connection open for the error response.
  const source = req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    return await readBytes(source, MAX_BODY_BYTES);
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new ConsoleError('request_too_large', `The body exceeds ${MAX_BODY_BYTES} bytes.`);
  }
}
