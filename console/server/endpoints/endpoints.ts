/** Calls deployments' endpoints for a signed-in user, with a key of five minutes that nobody ever sees. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { hashApiKey } from '../../../api/identity.ts';
import { generateApiKey } from '../../../api/token-format.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { publishSessionKey } from '../../../redis/console/session-keys.ts';
import { PLAYGROUND_KEY_SECONDS, PLAYGROUND_LIMITS } from '../../api.ts';
import { ConsoleError } from '../http/error.ts';
import { PromiseCache } from '../sessions/promise-cache.ts';
import type { Session } from '../sessions/sessions.ts';

export interface EndpointCall {
  method: 'GET' | 'POST';
  /** Of the deployment, with /v1. */
  baseURL: string;
  /** After /v1, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: Readable;
  signal?: AbortSignal;
}

export type EndpointAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

/** A key is renewed so long before its end. */
const MARGIN_SECONDS = 60;
const MOST_KEYS = 10_000;
const CONNECT_MS = 5_000;
/** Longer than any engine may take for an answer's first byte. */
const LONGEST_MS = 1_800_000;

export class Endpoints {
  readonly #redis: RedisClient;
  readonly #frontURL: string | null;
  readonly #agent = new Agent({
    connect: { timeout: CONNECT_MS },
    headersTimeout: LONGEST_MS,
    bodyTimeout: LONGEST_MS,
  });
  readonly #keys = new PromiseCache<string>({
    ttlMs: (PLAYGROUND_KEY_SECONDS - MARGIN_SECONDS) * 1_000,
    maxEntries: MOST_KEYS,
  });

  constructor({ redis, frontURL }: { redis: RedisClient; frontURL: string | null }) {
    this.#redis = redis;
    this.#frontURL = frontURL;
  }

  /** Throws ConsoleError where the endpoint does not answer; what it answers is the caller's to read. */
  async call(session: Session, namespace: string, call: EndpointCall): Promise<EndpointAnswer> {
    const cacheKey = `${session.digest} ${namespace}`;
    const key = await this.#keys.get(cacheKey, () => this.#makeKey(session, namespace));
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
      const words = (error as Error).message;
      throw new ConsoleError('upstream_error', `The deployment's endpoint did not respond: ${words}`);
    }
    // Not the user's fault, and not to be taken for the end of their session.
    this.#keys.forget(cacheKey);
    throw new ConsoleError(
      'upstream_error',
      'The endpoint does not know the key of the console yet: try again.',
    );
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** By way of the front, which knows deployments by their hosts. */
  #route(base: URL): { origin: string; headers: Record<string, string> } {
    if (this.#frontURL === null) return { origin: base.origin, headers: {} };
    return { origin: this.#frontURL, headers: { host: base.host } };
  }

  async #makeKey({ user }: Session, namespace: string): Promise<string> {
    const key = generateApiKey();
    await publishSessionKey(this.#redis, namespace, {
      ...PLAYGROUND_LIMITS,
      sha256: hashApiKey(key),
      name: `console:${user}`.replace(/[^\x21-\x7e]+/g, '_').slice(0, 200),
      expiresAt: Date.now() + PLAYGROUND_KEY_SECONDS * 1_000,
    });
    return key;
  }
}
