/** Reads a request's body within bounds. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { EngineError } from './errors.ts';

export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Throws an EngineError with 413 if it is too large; rejects if the client disconnects early. */
export function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    checkBodySize(
      request,
      (tooLarge) => {
        request.removeAllListeners('data').resume();
        reject(tooLarge);
      },
      maxBytes,
    );
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

/** Calls back once when more than `maxBytes` have arrived. */
export function checkBodySize(
  request: IncomingMessage,
  onTooLarge: (error: EngineError) => void,
  maxBytes = MAX_BODY_BYTES,
): void {
  let size = 0;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= maxBytes) return;
    request.off('data', count);
    onTooLarge(
      new EngineError(413, 'Request Entity Too Large', `The body is larger than ${maxBytes} bytes.`),
    );
  };
  request.on('data', count);
}

export type ParsedBody = { ok: true; value: unknown } | { ok: false; text: string; problem: string };

export function parseJSON(bytes: Buffer): ParsedBody {
  const text = bytes.toString('utf8');
  if (!isUtf8(bytes)) return { ok: false, text, problem: 'the body is not valid UTF-8' };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, text, problem: (error as Error).message };
  }
}
