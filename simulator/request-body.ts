/** Reads a request's body within bounds. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { EngineError } from './errors.ts';

export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Throws an EngineError with 413 when it is too large; rejects when the client leaves half-way. */
export function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        request.removeAllListeners('data').resume();
        reject(
          new EngineError(413, 'Request Entity Too Large', `The body is larger than ${maxBytes} bytes.`),
        );
      }
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.on('error', reject);
  });
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
