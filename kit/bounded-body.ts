/** Reads bodies of limited size into memory. */
import { GrowingBuffer } from './growing-buffer.ts';

export class BodyTooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`the body exceeds ${maxBytes} bytes`);
  }
}

/** `take` is awaited with each part and the size with it, and may throw. Throws BodyTooLargeError, or the source's error. */
export async function takeBody<Chunk extends Uint8Array>(
  source: AsyncIterable<Chunk>,
  maxBytes: number,
  take: (chunk: Chunk, bytes: number) => Promise<void> | void,
): Promise<void> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BodyTooLargeError(maxBytes);
    await take(chunk, bytes);
  }
}

/** Throws BodyTooLargeError, or the source's error. */
export async function readBody(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const collected = new GrowingBuffer();
  await takeBody(source, maxBytes, (chunk) => collected.add(chunk));
  return collected.read();
}

/** At most `maxBytes` of the start of a body, or what arrived before the source failed. */
export async function readBodyStart(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const collected = new GrowingBuffer();
  try {
    for await (const chunk of source) {
      collected.add(chunk.subarray(0, maxBytes - collected.length));
      if (collected.length === maxBytes) break;
    }
  } catch {}
  return collected.read();
}
