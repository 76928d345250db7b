/** One watch as the API server sends it: JSON lines until it ends, or the reader stops. */
import type { Readable } from 'node:stream';
import { type ApiError, parseApiError } from './api-error.ts';
import { MAX_ANSWER_BYTES, tooLarge } from './bounded-text.ts';

export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

/** Yields the events of a watch's body; an ERROR event is thrown as the `ApiError` that it carries. */
export async function* readWatchEvents<T>(body: Readable, call: string): AsyncGenerator<WatchEvent<T>> {
  // Destroying the body below makes it emit an error that nobody waits for any more.
  body.on('error', () => {});
  try {
    for await (const line of readLines(body, call)) {
      const event = JSON.parse(line) as WatchEvent<T>;
      if (event.type === 'ERROR') throw errorOf(event.object, call);
      yield event;
    }
  } finally {
    body.destroy();
  }
}

async function* readLines(body: Readable, call: string): AsyncGenerator<string> {
  body.setEncoding('utf8');
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_ANSWER_BYTES) throw tooLarge(call);
    for (const line of lines) if (line) yield line;
  }
}

function errorOf(status: unknown, call: string): ApiError {
  return parseApiError(call, (status as { code?: number }).code ?? 500, JSON.stringify(status));
}
