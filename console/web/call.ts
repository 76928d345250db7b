/** Calls of the console's own server. */
import { CSRF_HEADER } from '../api.ts';

/** What the server answered in place of what was asked for; the message is for people. */
export class CallError extends Error {
  readonly status: number;
  readonly code: string;
  /** The field that is wrong. */
  readonly param: string | null;

  constructor(status: number, code: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Sends JSON, answers JSON (undefined for 204). Throws CallError; a server that is away has status 0. */
export async function call<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await send(method, path, body, signal);
  return response.status === 204 ? (undefined as T) : await response.json();
}

/** The same, for answers that are streams or files. */
export async function send(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const isForm = body instanceof FormData;
  const response = await fetch(path, {
    method,
    headers: {
      ...(method !== 'GET' && { [CSRF_HEADER]: '1' }),
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
    signal,
  }).catch((error: Error) => {
    if (error.name === 'AbortError') throw error;
    throw new CallError(0, 'unreachable', 'The console cannot be reached. Is your network up?');
  });
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: undefined }));
  throw new CallError(
    response.status,
    error?.code ?? 'unknown',
    error?.message ?? `The console answered ${response.status}.`,
    error?.param ?? null,
  );
}

/** What the server found wrong with each field, and what it says of none of them. */
export function splitError(
  error: Error | null,
  fields: string[],
): { fields: Record<string, string>; rest: Error | null } {
  const param = error instanceof CallError ? (error.param?.split('.')[0] ?? null) : null;
  if (!error || !param || !fields.includes(param)) return { fields: {}, rest: error };
  const message = error.message.replace(/^[\w.]+: /, '');
  return { fields: { [param]: message.charAt(0).toUpperCase() + message.slice(1) }, rest: null };
}
