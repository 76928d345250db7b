/** One watch from the API server: JSON lines until it ends, or the reader stops. */
import type { Readable } from 'node:stream';
import { type KubeApiError, parseApiError } from './api-error.ts';
import { MAX_OBJECT_BYTES, tooLarge } from './bounded-text.ts';

export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

/** Yields the events of a watch's body; an ERROR event is thrown as the `KubeApiError` that it carries. */
export async function* readWatchEvents<T>(body: Readable, call: string): AsyncGenerator<WatchEvent<T>> {
  // Destroying the body below makes it emit an error that nobody handles anymore.
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
  // Kept in pieces until its end: joining at each chunk would copy a long line each time.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of body) {
    const [end, ...lines] = (chunk as string).split('\n') as [string, ...string[]];
    pieces.push(end);
    length += end.length;
    if (length > MAX_OBJECT_BYTES) throw tooLarge(call, MAX_OBJECT_BYTES);
    if (lines.length === 0) continue;
    const rest = lines.pop()!;
    for (const line of [pieces.join(''), ...lines]) if (line) yield line;
    pieces = [rest];
    length = rest.length;
  }
}

function errorOf(status: unknown, call: string): KubeApiError {
  return parseApiError(call, (status as { code?: number }).code ?? 500, JSON.stringify(status));
}
