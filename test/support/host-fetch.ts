/** `fetch` with a given Host header, which the real one overwrites. */
import { request } from 'node:http';
import { Readable } from 'node:stream';

export interface HostFetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  signal?: AbortSignal;
}

export const fetchByHost = (url: string, host: string, options: HostFetchOptions = {}): Promise<Response> =>
  new Promise((resolve, reject) => {
    const { method, headers, body, signal } = options;
    const call = request(url, { method, headers: { ...headers, host }, signal, agent: false }, (message) => {
      const received = new Headers();
      for (let index = 0; index < message.rawHeaders.length; index += 2)
        received.append(message.rawHeaders[index]!, message.rawHeaders[index + 1]!);
      // A Response with such a status accepts no stream, not even an empty one.
      const content = [204, 304].includes(message.statusCode!)
        ? null
        : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
      if (content === null) message.resume();
      resolve(new Response(content, { status: message.statusCode, headers: received }));
    });
    call.on('error', reject);
    call.end(body);
  });
