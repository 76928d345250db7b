/** Gets signed URLs from the internal service of the fronts, for sidecars. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { ErrorEnvelope } from '../../api/api-objects.ts';
import type { ErrorCode } from '../../api/errors.ts';
import { INTERNAL_PATHS, WORKSPACE_HEADER } from '../../api/internal-api.ts';
import { retry } from '../../kit/retry.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { GetUrlsRequest, PutUrlsRequest, SignedPuts, UrlSigner } from './url-signer.ts';

export interface RemoteUrlSignerOptions {
  /** Origin of the service; null = the installation has none. */
  url: string | null;
  namespace: string;
  /** `storageToken`. */
  token: string;
  /** Limit of each of three attempts. */
  timeoutMs?: number;
}

interface Reply {
  status: number;
  body: string;
  /** Only a person can end the error. */
  isFinal: boolean;
}

const TIMEOUT_MS = 5_000;
const RETRIES = { backoff: { baseMs: 300, maxMs: 1_000 }, isTransient: () => true, maxAttempts: 3 };
const RETRY_SECONDS = 2;
const UNREACHABLE = 'The storage service could not be reached.';
/** Passed on to callers; anything else is an internal error. */
const PASSED_ON: readonly ErrorCode[] = [
  'storage_credential_not_found',
  'storage_credential_not_verified',
  'temporarily_unavailable',
  'permission_denied',
];

export const refuseWithoutStorage = (): ApiError =>
  refuseAsUnavailable('noStorage', 'This installation has no storage for results.');

export class RemoteUrlSigner implements UrlSigner {
  readonly #options: RemoteUrlSignerOptions;

  constructor(options: RemoteUrlSignerOptions) {
    this.#options = options;
  }

  signPuts(question: PutUrlsRequest): Promise<SignedPuts> {
    return this.#ask(INTERNAL_PATHS.signPuts, question, 'storage_upload_failed');
  }

  signGets(question: GetUrlsRequest): Promise<string[]> {
    return this.#ask(INTERNAL_PATHS.signGets, question, 'temporarily_unavailable');
  }

  /** `lost`: the error if the service does not respond. */
  async #ask<Answer>(
    path: string,
    question: object,
    lost: 'storage_upload_failed' | 'temporarily_unavailable',
  ): Promise<Answer> {
    const { url } = this.#options;
    if (url === null) throw refuseWithoutStorage();
    const send = () => this.#send(new URL(path, url), JSON.stringify(question));
    const reply = await retry(send, RETRIES).catch((cause) => {
      const error =
        lost === 'storage_upload_failed'
          ? new ApiError(lost, UNREACHABLE, { retryAfter: RETRY_SECONDS })
          : refuseAsUnavailable('storageService', UNREACHABLE);
      throw Object.assign(error, { cause });
    });
    if (reply.status === 200) return JSON.parse(reply.body) as Answer;
    throw readError(reply);
  }

  /** On a new connection, so that the next attempt may reach another front. */
  async #send(url: URL, body: string): Promise<Reply> {
    const reply = await this.#sendOnce(url, body);
    if (reply.status < 500 || reply.body.includes('"code":"temporarily_unavailable"')) return reply;
    throw new Error(`the storage service responded with status ${reply.status}`);
  }

  #sendOnce(url: URL, body: string): Promise<Reply> {
    const { namespace, token, timeoutMs = TIMEOUT_MS } = this.#options;
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        method: 'POST',
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          authorization: `Bearer ${token}`,
          [WORKSPACE_HEADER]: namespace,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      });
      request.once('error', reject);
      request.once('response', (response) => {
        const isFinal = response.headers['x-should-retry'] === 'false';
        text(response).then((body) => resolve({ status: response.statusCode!, body, isFinal }), reject);
      });
      request.end(body);
    });
  }
}

function readError({ status, body, isFinal }: Reply): Error {
  try {
    const { code, message } = (JSON.parse(body) as ErrorEnvelope).error;
    const known = PASSED_ON.find((each) => each === code);
    if (known === 'temporarily_unavailable')
      return refuseAsUnavailable(isFinal ? 'noStorage' : 'storageService', message);
    if (known) return new ApiError(known, message);
  } catch {
    // Reported below.
  }
  return new Error(`the storage service rejected this gateway with status ${status}`);
}
