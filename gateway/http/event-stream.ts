/** An event stream to a client, each piece in one system call. */
import type { ServerResponse } from 'node:http';

const STREAM_HEADERS = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
  'x-accel-buffering',
  'no',
];
const CHUNKED = ['transfer-encoding', 'chunked'];

/**
 * Node writes a chunk as four pieces (length, line end, data, line end), which costs more than everything else done
 * with a frame. So chunks are built here, as strings with one character per byte (decision 0130).
 */
export class EventStream {
  readonly #res: ServerResponse;
  readonly #isChunked: boolean;

  /** Sends the head; `headers` are alternating names and values. */
  constructor(res: ServerResponse, headers: readonly string[]) {
    this.#res = res;
    // HTTP/1.0 has no chunks: the stream ends with the connection.
    this.#isChunked = res.useChunkedEncodingByDefault;
    res.writeHead(200, headers.concat(STREAM_HEADERS, this.#isChunked ? CHUNKED : []));
    res.chunkedEncoding = false;
  }

  /** False: the client is slow, wait for `drain`. `text` has one character per byte and is not empty. */
  write(text: string): boolean {
    return this.#res.write(this.#format(text), 'latin1');
  }

  end(last = ''): void {
    const text = (last === '' ? '' : this.#format(last)) + (this.#isChunked ? '0\r\n\r\n' : '');
    this.#res.end(text, 'latin1');
  }

  #format(text: string): string {
    return this.#isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text;
  }
}

/** A string with one character for each of its UTF-8 bytes. */
export const toBytesText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
