/** Calls of the console's own server. */
import { CSRF_HEADER } from '../../api.ts';
import { type AnswerOf, type Args, type BodyOf, locate, type ParamsOf, type Route } from '../../routes.ts';
import { watchSlowness } from './slowness.ts';

/** An error from the server; the message can be shown to users. */
export class CallError extends Error {
  readonly status: number;
  readonly code: string;
  /** The invalid field. */
  readonly param: string | null;

  constructor(status: number, code: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Timeout of reads; writes have none. */
const READ_TIMEOUT_MS = 15_000;
/** Responses cached in memory, so that polls can get 304 Not Modified. */
const MAX_CACHED_RESPONSES = 50;

interface CachedResponse {
  etag: string;
  body: unknown;
}
const cachedResponses = new Map<string, CachedResponse>();

/** Cached responses belong to the signed-in user. */
export const clearCachedResponses = (): void => cachedResponses.clear();

/**
 * Sends JSON or a form and returns JSON (undefined for 204). `args`: what the path needs, and the query. Throws CallError, with status
 * 0 if the server is unreachable.
 */
export const call: <R extends Route>(
  route: R,
  args: ParamsOf<R> & Args,
  ...[body, signal]: BodyOf<R> extends void
    ? [body?: undefined, signal?: AbortSignal]
    : [body: BodyOf<R>, signal?: AbortSignal]
) => Promise<AnswerOf<R>> = request;

/** The same, where types do not say what is sent. */
// biome-ignore lint/suspicious/noExplicitAny: its callers know what the route answers
export async function request(route: Route, args: Args, body?: unknown, signal?: AbortSignal): Promise<any> {
  if (route.method === 'GET') return read(locate(route, args), signal);
  const response = await watchSlowness(send(route, args, body, signal));
  return response.status === 204 ? undefined : response.json();
}

async function read(path: string, signal?: AbortSignal): Promise<unknown> {
  const known = cachedResponses.get(path);
  const timeout = AbortSignal.timeout(READ_TIMEOUT_MS);
  const response = await watchSlowness(
    sendRequest(path, {
      headers: known && { 'if-none-match': known.etag },
      // The browser must not store session data on disk.
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    }),
  );
  if (response.status === 304 && known) return known.body;
  const body: unknown = await response.json();
  const etag = response.headers.get('etag');
  if (etag) remember(path, { etag, body });
  return body;
}

function remember(path: string, answer: CachedResponse): void {
  cachedResponses.delete(path);
  cachedResponses.set(path, answer);
  if (cachedResponses.size > MAX_CACHED_RESPONSES)
    cachedResponses.delete(cachedResponses.keys().next().value!);
}

/** The same for streams and files. */
export function send(route: Route, args: Args, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const isForm = body instanceof FormData;
  return sendRequest(locate(route, args), {
    method: route.method,
    headers: {
      ...(route.method !== 'GET' && { [CSRF_HEADER]: '1' }),
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
    signal,
  });
}

async function sendRequest(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: Error) => {
    if (error.name === 'AbortError') throw error;
    const why =
      error.name === 'TimeoutError' ? 'did not respond' : 'is unreachable. Check your network connection.';
    throw new CallError(0, 'unreachable', `The console ${why}. Retrying…`);
  });
  if (response.ok || response.status === 304) return response;
  const { error } = await response.json().catch(() => ({ error: undefined }));
  throw new CallError(
    response.status,
    error?.code ?? 'unknown',
    error?.message ?? `The console returned HTTP ${response.status}.`,
    error?.param ?? null,
  );
}

/** Splits an error into messages per field, and the rest. */
export function splitError(
  error: Error | null,
  fields: string[],
): { fields: Record<string, string>; rest: Error | null } {
  const param = error instanceof CallError ? (error.param?.split('.')[0] ?? null) : null;
  if (!error || !param || !fields.includes(param)) return { fields: {}, rest: error };
  const message = error.message.replace(/^[\w.]+: /, '');
  return { fields: { [param]: message.charAt(0).toUpperCase() + message.slice(1) }, rest: null };
}
