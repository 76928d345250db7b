/** A container's log from the API server: lines of any text. */
import type { Readable } from 'node:stream';

export interface LogOptions {
  container: string;
  /** Only so many of the last lines. */
  tailLines?: number | undefined;
  sinceSeconds?: number | undefined;
  /** The log of the container before its last restart. */
  previous?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** A longer line is cut into several. */
const MAX_LINE = 64 * 1024;

export async function* readLogLines(body: Readable): AsyncGenerator<string> {
  // Destroying the body below makes it emit an error that nobody handles anymore.
  body.on('error', () => {});
  body.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of body) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop()!;
      yield* lines;
      if (rest.length < MAX_LINE) continue;
      yield rest;
      rest = '';
    }
    if (rest !== '') yield rest;
  } finally {
    body.destroy();
  }
}
