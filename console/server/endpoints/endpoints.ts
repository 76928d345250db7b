/** Calls deployments' endpoints for a signed-in user, with a temporary key that is never shown. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { generateApiKey, hashApiKey } from '../../../api/identity.ts';
import { PERSONAL_KEY_PREFIX } from '../../../api/redis-keys.ts';
import { connectHTTP1, HTTP1_ONLY } from '../../../kit/http1.ts';
import { joinAnswers } from '../../../kit/joined-answers.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { publishSessionKey } from '../../../redis/console/console-sessions.ts';
import { PLAYGROUND_KEY_SECONDS, PLAYGROUND_LIMITS } from '../../api.ts';
import { ConsoleError } from '../http/error.ts';
import { PromiseCache } from '../sessions/promise-cache.ts';
import type { Session } from '../sessions/session.ts';

export interface EndpointCall {
  method: 'GET' | 'POST';
  /** The deployment's URL, with /v1. */
  baseURL: string;
  /** After /v1, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: Readable;
  signal?: AbortSignal;
}

export type EndpointAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

/** Keys are renewed this long before they expire. */
const MARGIN_SECONDS = 60;
const MAX_KEYS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than any engine takes to the first byte of a response. */
const RESPONSE_TIMEOUT_MS = 1_800_000;

export class Endpoints {
  readonly #redis: RedisClient;
  readonly #frontURL: string | null;
  readonly #agent: Dispatcher = new Agent({
    ...HTTP1_ONLY,
    connect: connectHTTP1({ timeout: CONNECT_TIMEOUT_MS }),
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
  }).compose(joinAnswers);
  readonly #keys = new PromiseCache<string>({
    ttlMs: (PLAYGROUND_KEY_SECONDS - MARGIN_SECONDS) * 1_000,
    maxEntries: MAX_KEYS,
  });

  constructor({ redis, frontURL }: { redis: RedisClient; frontURL: string | null }) {
    this.#redis = redis;
    this.#frontURL = frontURL;
  }

  /** Throws ConsoleError if the endpoint does not respond; the caller must read the response. */
  async call(session: Session, namespace: string, call: EndpointCall): Promise<EndpointAnswer> {
    const cacheKey = `${session.digest} ${namespace}`;
    const key = await this.#keys.get(cacheKey, () => this.#createKey(session, namespace));
    const base = new URL(call.baseURL);
    const { origin, headers } = this.#route(base);
    try {
      const answer = await this.#agent.request({
        origin,
        method: call.method,
        path: `${base.pathname.replace(/\/+$/, '')}/${call.path}`,
        headers: { ...call.headers, ...headers, authorization: `Bearer ${key}` },
        body: call.body ?? null,
        signal: call.signal,
      });
      if (answer.statusCode !== 401) return answer;
      await answer.body.dump();
    } catch (error) {
      call.signal?.throwIfAborted();
      const message = (error as Error).message;
      throw new ConsoleError('upstream_error', `The deployment's endpoint did not respond: ${message}`);
    }
    // An error of the console; a 401 would look like the end of the user's session.
    this.#keys.delete(cacheKey);
    throw new ConsoleError(
      'upstream_error',
      "The endpoint doesn't recognize the console's key yet. Try again.",
    );
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** Through the front, which routes by host. */
  #route(base: URL): { origin: string; headers: Record<string, string> } {
    if (this.#frontURL === null) return { origin: base.origin, headers: {} };
    return { origin: this.#frontURL, headers: { host: base.host } };
  }

  async #createKey({ user }: Session, namespace: string): Promise<string> {
    const key = generateApiKey();
    await publishSessionKey(this.#redis, namespace, {
      ...PLAYGROUND_LIMITS,
      sha256: hashApiKey(key),
      name: `${PERSONAL_KEY_PREFIX}${user}`.replace(/[^\x21-\x7e]+/g, '_').slice(0, 200),
      expiresAt: Date.now() + PLAYGROUND_KEY_SECONDS * 1_000,
    });
    return key;
  }
}
