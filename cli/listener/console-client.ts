/** Calls of the console's API as a signed-in user. */
import { CSRF_HEADER, type SessionView } from '../../console/api.ts';
import { readBody } from '../../kit/bounded-body.ts';

const CALL_TIMEOUT_MS = 10_000;
/** Payloads and lists are smaller. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** Statuses of transient refusals. */
const PASSING = [408, 429];

/** A response of the console that refuses the call. */
export class ConsoleRefusal extends Error {
  readonly status: number;
  /** Whether the same call may succeed later. */
  readonly isPassing: boolean;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
    this.isPassing = status >= 500 || PASSING.includes(status);
  }
}

export interface ConsoleOptions {
  /** Origin. */
  url: string;
  /** Called at each sign-in, so that it may be renewed meanwhile. */
  readToken: () => string;
  namespace: string | null;
  /** Aborts reads. */
  signal: AbortSignal;
}

export class ConsoleClient {
  readonly #options: ConsoleOptions;
  #cookie = '';

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  /** Throws ConsoleRefusal, or a TypeError if the console does not respond. */
  async signIn(): Promise<SessionView> {
    const { readToken, namespace } = this.#options;
    const response = await this.#send('POST', '/api/session', {
      token: readToken(),
      ...(namespace !== null && { namespace }),
    });
    const answer = await readAnswer(response);
    this.#cookie = response.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
    return answer as SessionView;
  }

  /** Signs in again if the session has ended. Throws as `signIn`. */
  async get<T>(path: string): Promise<T> {
    let response = await this.#send('GET', path);
    if (response.status === 401) {
      await response.body?.cancel();
      await this.signIn();
      response = await this.#send('GET', path);
    }
    return (await readAnswer(response)) as T;
  }

  async signOut(): Promise<void> {
    const response = await this.#send('DELETE', '/api/session');
    await response.body?.cancel();
  }

  #send(method: string, path: string, body?: object): Promise<Response> {
    const { url, signal } = this.#options;
    const timeout = AbortSignal.timeout(CALL_TIMEOUT_MS);
    return fetch(`${url}${path}`, {
      method,
      headers: {
        ...(this.#cookie && { cookie: this.#cookie }),
        ...(method !== 'GET' && { origin: url, [CSRF_HEADER]: '1' }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // Another host would receive the token.
      redirect: 'manual',
      signal: method === 'GET' ? AbortSignal.any([signal, timeout]) : timeout,
    });
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  const { status, ok } = response;
  const text = response.body ? (await readBody(response.body, MAX_ANSWER_BYTES)).toString('utf8') : '';
  let answer: { error?: { message?: string } };
  try {
    answer = JSON.parse(text);
  } catch {
    throw new ConsoleRefusal(status, `the console returned ${status} and no JSON; check the console URL`);
  }
  if (!ok) throw new ConsoleRefusal(status, answer.error?.message ?? `the console returned ${status}`);
  return answer;
}
