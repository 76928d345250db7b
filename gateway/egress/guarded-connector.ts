/**
 * Connections to checked addresses only. The check is part of each connection's own DNS lookup, so what was checked is
 * what is dialed: DNS rebinding gains nothing.
 */
import type { LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { type buildConnector, Client, Pool } from 'undici';
import { connectHTTP1, HTTP1_ONLY } from '../../kit/http1.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';
import { EgressError } from './egress-error.ts';
import type { NameResolver, ResolvedAddress } from './name-resolver.ts';
import { readLiteral, requireVerdict, type URLRules } from './url-policy.ts';

export interface GuardOptions extends URLRules {
  resolver: NameResolver;
  /** Certificates to trust instead of the system's. */
  ca?: string;
}

type Connector = buildConnector.connector;

const CONNECT_TIMEOUT_MS = 5_000;

/** The addresses of a name if every one may be dialed. Throws EgressError. */
export async function resolveAllowed(
  { policy, resolver }: GuardOptions,
  hostname: string,
  protocol: string,
): Promise<ResolvedAddress[]> {
  const addresses = await resolver.resolve(hostname);
  for (const { address } of addresses) requireVerdict(policy(address), protocol);
  return addresses;
}

/** What was checked is what is dialed, so DNS rebinding gains nothing. */
export const buildGuardedLookup =
  (options: GuardOptions, protocol: string): LookupFunction =>
  (hostname, { all }, callback) => {
    resolveAllowed(options, hostname, protocol).then(
      (addresses) =>
        all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error) => callback(error, []),
    );
  };

/** Node looks up no literal addresses, so these are checked before it connects. Throws EgressError. */
export function checkLiteral({ policy }: GuardOptions, hostname: string, protocol: string): void {
  const literal = readLiteral(hostname);
  if (literal) requireVerdict(policy(literal), protocol);
}

export function buildGuardedConnector(options: GuardOptions): Connector {
  const connectors = new Map(['https:', 'http:'].map((protocol) => [protocol, build(options, protocol)]));
  return (target, callback) => {
    try {
      checkLiteral(options, target.hostname, target.protocol);
      connectors.get(target.protocol)!(target, (...[error, socket]) => {
        if (!socket) return callback(error!, null);
        try {
          requireVerdict(options.policy(socket.remoteAddress ?? ''), target.protocol);
          callback(null, socket);
        } catch (refusal) {
          socket.destroy();
          callback(refusal as Error, null);
        }
      });
    } catch (refusal) {
      callback(refusal as Error, null);
    }
  };
}

const build = (options: GuardOptions, protocol: string): Connector =>
  connectHTTP1({
    lookup: buildGuardedLookup(options, protocol),
    ca: options.ca,
    timeout: CONNECT_TIMEOUT_MS,
  });

/** One connection; its remote address is checked again for each request that reuses it. */
export function createGuardedClient(origin: URL, options: Client.Options, { policy }: URLRules): Client {
  let remove: (() => void) | null = null;
  const connect = options.connect as Connector;
  const client = new Client(origin, {
    ...options,
    connect: (target, callback) =>
      connect(target, (...[error, socket]) => {
        if (!socket) return callback(error!, null);
        remove = () => {
          if (policy(socket.remoteAddress ?? '') === 'blocked') socket.destroy(new EgressError('address'));
        };
        callback(null, socket);
      }),
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (request, handler) => {
    remove?.();
    return dispatch(request, handler);
  };
  return client;
}

export interface GuardedPoolsOptions extends GuardOptions {
  connectionsPerOrigin: number;
  /** More than can be in use at once. */
  maxOrigins: number;
}

const MAX_KEEP_ALIVE_MS = 10_000;

/** A pool of guarded connections per origin, for the latest origins only: tenants may use any number of them. */
export class GuardedPools {
  readonly #options: GuardedPoolsOptions;
  readonly #connect: ReturnType<typeof buildGuardedConnector>;
  readonly #pools: LRUCache<string, Pool>;

  constructor(options: GuardedPoolsOptions) {
    this.#options = options;
    this.#connect = buildGuardedConnector(options);
    this.#pools = new LRUCache({
      max: options.maxOrigins,
      // Requests in progress in it finish.
      dispose: (pool, _, reason) => {
        if (reason === 'evict') pool.close().catch(() => {});
      },
    });
  }

  get size(): number {
    return this.#pools.size;
  }

  get(origin: string): Pool {
    const known = this.#pools.get(origin);
    if (known) return known;
    const pool = this.#create(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  /** Aborts what is in progress. */
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #create(origin: string): Pool {
    return new Pool(origin, {
      connect: this.#connect,
      ...HTTP1_ONLY,
      connections: this.#options.connectionsPerOrigin,
      pipelining: 1,
      // The request's own deadline applies.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
      factory: (place, options) => createGuardedClient(place, options as object, this.#options),
    }).compose(joinAnswers) as Pool;
  }
}
