/** HTTP to the issuer, with responses of limited size and time. */
import type { CustomFetch } from 'openid-client';
import { Agent } from 'undici';
import { VERSION } from '../../../api/names.ts';
import { BodyTooLargeError, readBody } from '../../../kit/bounded-body.ts';
import { connectHTTP1, HTTP1_ONLY } from '../../../kit/http1.ts';
import { IssuerError } from './issuer-error.ts';

/** Limit of one response, such as two tokens with hundreds of groups. */
const MAX_ANSWER_BYTES = 128 * 1024;
const MAX_CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 5_000;

export class IssuerConnection {
  readonly #agent: Agent;

  /** `ca`: PEM; undefined = the system's CA certificates. */
  constructor(ca: string | undefined) {
    this.#agent = new Agent({
      ...HTTP1_ONLY,
      connect: connectHTTP1({ ca, timeout: CONNECT_TIMEOUT_MS }),
      connections: MAX_CONNECTIONS,
      // The signal of each call covers the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** For openid-client. Follows no redirects. Throws IssuerError. */
  readonly fetch: CustomFetch = async (url, { method, headers, body, signal }) => {
    const { origin, pathname, search, host } = new URL(url);
    const failed = (cause: unknown): never => {
      if (cause instanceof BodyTooLargeError)
        throw new IssuerError('misconfigured', `a response of ${host} exceeds ${MAX_ANSWER_BYTES} bytes`, {
          cause,
        });
      throw new IssuerError('away', `${host} did not respond: ${(cause as Error).message}`, { cause });
    };
    const answer = await this.#agent
      .request({
        origin,
        path: pathname + search,
        method: method as 'GET' | 'POST',
        // A compressed response could decompress to more than its limit.
        headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': `berth-console/${VERSION}` },
        body: body === undefined || body === null ? null : String(body),
        signal: signal ?? null,
      })
      .catch(failed);
    const { statusCode } = answer;
    const bytes = await readBody(answer.body, MAX_ANSWER_BYTES).catch(failed);
    if (statusCode >= 500 || statusCode === 429)
      throw new IssuerError('away', `${host} returned HTTP ${statusCode}`);
    const type = String(answer.headers['content-type'] ?? '');
    return new Response(bytes.length > 0 ? new Uint8Array(bytes) : null, {
      status: statusCode,
      headers: { 'content-type': type },
    });
  };

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
