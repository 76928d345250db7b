/** The one way out to URLs that tenants supply: webhooks, images, storage endpoints. */
import { type AddressPolicy, type AddressRules, createAddressPolicy } from './address-policy.ts';
import type { Allowance } from './allowance.ts';
import { type EgressAnswer, EgressCall } from './egress-call.ts';
import { EgressError } from './egress-error.ts';
import { type GuardOptions, resolveJudged } from './guarded-connector.ts';
import { GuardedPools } from './guarded-pools.ts';
import { InFlight } from './in-flight.ts';
import { NameResolver } from './name-resolver.ts';
import { parseEgressURL, readLiteral } from './url-policy.ts';

/** What an operator sets. */
export interface EgressSettings extends AddressRules {
  /** Whether http: may be used to reach what `allow` lists. */
  plainHTTP: boolean;
}

/** Only what is public, only by https:. */
export const PUBLIC_ONLY: EgressSettings = { allow: [], deny: [], plainHTTP: false };

export interface EgressAgentOptions extends EgressSettings {
  /** DNS servers, as in dns.setServers(); the system's by default. */
  servers?: readonly string[];
  /** Certificates (PEM) to trust instead of the system's. */
  ca?: string;
  /** Instead of the one that `allow` and `deny` make. */
  policy?: AddressPolicy;
  /** Requests on their way; more wait, within their deadlines. */
  inFlight?: { inAll: number; perDestination: number };
}

export interface EgressRequest {
  url: string;
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: Buffer;
  /** Covers a place among those in flight, DNS, connecting, TLS and the whole answer. */
  deadlineMs: number;
  /** Of the answer's body; reading ends where it does. */
  allowance: Allowance;
  signal?: AbortSignal;
  /** The status is all that is asked for: a body that breaks off, or does not end in time, takes nothing from it. */
  isStatusEnough?: boolean;
}

const IN_FLIGHT = { inAll: 256, perDestination: 16 };

export class EgressAgent {
  readonly #guard: GuardOptions;
  readonly #pools: GuardedPools;
  readonly #inFlight: InFlight;

  constructor(options: EgressAgentOptions) {
    const { inAll, perDestination } = options.inFlight ?? IN_FLIGHT;
    this.#inFlight = new InFlight({ inAll, perDestination });
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
    if (!readLiteral(hostname)) await resolveJudged(this.#guard, hostname, protocol);
  }

  /** Follows no redirects: they are answers like any other. Throws EgressError. */
  async request(request: EgressRequest): Promise<EgressAnswer> {
    const url = parseEgressURL(request.url, this.#guard);
    const end = new AbortController();
    const abandon = () => end.abort(new EgressError('aborted'));
    let stage: 'busy' | 'timeout' = 'busy';
    const timer = setTimeout(() => end.abort(new EgressError(stage)), request.deadlineMs);
    request.signal?.addEventListener('abort', abandon, { once: true });
    if (request.signal?.aborted) abandon();
    try {
      const leave = await this.#inFlight.enter(url.host, end.signal);
      stage = 'timeout';
      try {
        return await new EgressCall(url, request, end.signal).send(this.#pools.get(url.origin));
      } finally {
        leave();
      }
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', abandon);
    }
  }

  /** Breaks off what is under way. */
  close(): Promise<void> {
    return this.#pools.destroy();
  }
}
