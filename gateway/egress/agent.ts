/** All requests to URLs that tenants supply: webhooks, images, storage endpoints. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { VERSION } from '../../api/names.ts';
import { ConcurrencyLimit } from '../../kit/concurrency-limit.ts';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { type AddressPolicy, type AddressRules, createAddressPolicy } from './address-policy.ts';
import type { Allowance } from './allowance.ts';
import { EgressError, toEgressError } from './egress-error.ts';
import { GuardedPools, type GuardOptions, resolveAllowed } from './guarded-connector.ts';
import { NameResolver } from './name-resolver.ts';
import { parseEgressURL, readLiteral } from './url-policy.ts';

/** Set by the administrator. */
export interface EgressSettings extends AddressRules {
  /** Whether http: may be used to reach what `allow` lists. */
  plainHTTP: boolean;
}

export interface EgressAgentOptions extends EgressSettings {
  /** DNS servers, as in dns.setServers(); the system's by default. */
  servers?: readonly string[];
  /** Certificates (PEM) to trust instead of the system's. */
  ca?: string;
  /** Overrides the policy from `allow` and `deny`. */
  policy?: AddressPolicy;
  /** Requests in flight; more wait, within their deadlines. */
  inFlight?: { inAll: number; perDestination: number };
}

export interface EgressRequest {
  url: string;
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: Buffer;
  /** Covers waiting for a slot, DNS, connecting, TLS and the whole response. */
  deadlineMs: number;
  /** Budget of the response's body; reading stops at this size. */
  allowance: Allowance;
  signal?: AbortSignal;
  /** Only the head matters: the body is not kept, and does not change the result where it is interrupted or slow. */
  isStatusEnough?: boolean;
}

const IN_FLIGHT = { inAll: 256, perDestination: 16 };

export class EgressAgent {
  readonly #guard: GuardOptions;
  readonly #pools: GuardedPools;
  readonly #inFlight: ConcurrencyLimit;

  constructor(options: EgressAgentOptions) {
    const { inAll, perDestination } = options.inFlight ?? IN_FLIGHT;
    this.#inFlight = new ConcurrencyLimit(inAll, { perOwner: perDestination });
    this.#guard = {
      policy: options.policy ?? createAddressPolicy(options),
      plainHTTP: options.plainHTTP,
      resolver: new NameResolver(options.servers),
      ca: options.ca,
    };
    this.#pools = new GuardedPools({
      ...this.#guard,
      connectionsPerOrigin: perDestination,
      maxOrigins: inAll,
    });
  }

  /** Whether a request to the URL would be sent now, as for a URL that is saved. Throws EgressError. */
  async check(text: string): Promise<void> {
    const { hostname, protocol } = parseEgressURL(text, this.#guard);
    if (!readLiteral(hostname)) await resolveAllowed(this.#guard, hostname, protocol);
  }

  /** Does not follow redirects: they are ordinary responses. Throws EgressError. */
  async request(request: EgressRequest): Promise<EgressAnswer> {
    const url = parseEgressURL(request.url, this.#guard);
    const end = new AbortController();
    const abandon = () => end.abort(new EgressError('aborted'));
    let stage: 'busy' | 'timeout' = 'busy';
    const timer = setTimeout(() => end.abort(new EgressError(stage)), request.deadlineMs);
    request.signal?.addEventListener('abort', abandon, { once: true });
    if (request.signal?.aborted) abandon();
    try {
      const call = () => {
        stage = 'timeout';
        return new EgressCall(url, request, end.signal).send(this.#pools.get(url.origin));
      };
      return await this.#inFlight.run(call, url.host, end.signal);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', abandon);
    }
  }

  /** Aborts what is in progress. */
  close(): Promise<void> {
    return this.#pools.destroy();
  }
}

export interface EgressAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Must not be shown to a tenant unchanged. */
  body: Buffer;
  /** The response was longer than allowed; `body` is its beginning, or empty. */
  isTruncated: boolean;
}

const HEADERS = { 'user-agent': `Berth/${VERSION}`, 'accept-encoding': 'identity' };

/** One request through the guarded connections, until its response is read or it times out. */
class EgressCall implements Dispatcher.DispatchHandler {
  readonly #url: URL;
  readonly #request: EgressRequest;
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | null = null;
  #settle: ((answer: EgressAnswer | EgressError) => void) | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #body = new GrowingBuffer();

  /** `signal`: aborted with an EgressError. */
  constructor(url: URL, request: EgressRequest, signal: AbortSignal) {
    this.#url = url;
    this.#request = request;
    this.#signal = signal;
  }

  /** Call once. Throws EgressError. */
  send(pool: Dispatcher): Promise<EgressAnswer> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#end(this.#signal.reason);
      this.#settle = (outcome) => {
        this.#settle = null;
        this.#signal.removeEventListener('abort', onAbort);
        if (!(outcome instanceof EgressError)) resolve(outcome);
        else if (this.#request.isStatusEnough && this.#status !== 0) resolve(this.#answer(true));
        else reject(outcome);
      };
      this.#signal.addEventListener('abort', onAbort, { once: true });
      const { pathname, search } = this.#url;
      const { method, headers, body } = this.#request;
      const path = pathname + search;
      pool.dispatch({ path, method, headers: { ...HEADERS, ...headers }, body }, this);
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It timed out before a connection was established.
    if (!this.#settle) controller.abort(new EgressError('aborted'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length'] ?? 0) > this.#request.allowance.left) this.#end(this.#answer(true));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#settle) return;
    const { allowance, isStatusEnough } = this.#request;
    if (!allowance.take(chunk.length)) this.#end(this.#answer(true));
    else if (!isStatusEnough) this.#body.add(chunk);
  }

  onResponseEnd(): void {
    this.#settle?.(this.#answer(false));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle?.(toEgressError(error));
  }

  #answer(isTruncated: boolean): EgressAnswer {
    return { status: this.#status, headers: this.#headers, body: this.#body.read(), isTruncated };
  }

  /** Before the response's own end. */
  #end(outcome: EgressAnswer | EgressError): void {
    this.#settle?.(outcome);
    this.#controller?.abort(new EgressError('aborted'));
  }
}
