/** Calls of a text endpoint, including streams, from a client's view. */
import { fetchByHost } from './host-fetch.ts';
import { API_KEY } from './model-replica.ts';

export interface ChatOptions {
  key?: string;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Host header. */
  host?: string;
  body?: Record<string, unknown>;
}

export function callChat(baseURL: string, options: ChatOptions = {}): Promise<Response> {
  const request = {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.key ?? API_KEY}`,
      'content-type': 'application/json',
      ...options.headers,
    },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...options.body }),
    signal: options.signal,
  };
  const url = `${baseURL}/chat/completions`;
  return options.host === undefined ? fetch(url, request) : fetchByHost(url, options.host, request);
}

export interface StreamedChat {
  status: number;
  headers: Headers;
  /** Resolves with all that arrived; `isWhole` if it ended with [DONE], `error` if it broke off. */
  ended: Promise<{ text: string; isWhole: boolean; error: unknown }>;
  /** Frames so far. */
  frames(): number;
}

export async function streamChat(baseURL: string, options: ChatOptions = {}): Promise<StreamedChat> {
  const response = await callChat(baseURL, { ...options, body: { stream: true, ...options.body } });
  let text = '';
  const read = async () => {
    let error: unknown;
    try {
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
    } catch (thrown) {
      error = thrown;
    }
    return { text, isWhole: /data: \[DONE\]\s*$/.test(text), error };
  };
  return {
    status: response.status,
    headers: response.headers,
    ended: read(),
    frames: () => text.split('data: ').length - 1,
  };
}

/** The envelope of an error response, with its status. */
export async function readError(
  response: Response,
): Promise<{ status: number; code: string | null; message: string; retryAfter: string | null }> {
  const { error } = (await response.json()) as { error: { code: string | null; message: string } };
  return {
    status: response.status,
    code: error.code,
    message: error.message,
    retryAfter: response.headers.get('retry-after'),
  };
}
