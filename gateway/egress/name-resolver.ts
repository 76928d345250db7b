/** Resolves names by DNS only: no search domains, no hosts file, and none of getaddrinfo's few threads. */
import { Resolver } from 'node:dns/promises';
import { EgressError } from './egress-error.ts';

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

const TIMEOUT_MS = 2_000;
const LOOPBACK: ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

export class NameResolver {
  readonly #resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });

  /** `servers`: as in dns.setServers(); the system's by default. */
  constructor(servers?: readonly string[]) {
    if (servers) this.#resolver.setServers(servers);
  }

  /** All addresses of both families, at least one. Throws EgressError `unresolvable`. */
  async resolve(hostname: string): Promise<ResolvedAddress[]> {
    // RFC 6761; DNS servers differ on it.
    if (/(^|\.)localhost$/i.test(hostname)) return LOOPBACK;
    const [ipv4, ipv6] = await Promise.allSettled([
      this.#resolver.resolve4(hostname),
      this.#resolver.resolve6(hostname),
    ]);
    const addresses = [...listAddresses(ipv4, 4), ...listAddresses(ipv6, 6)];
    if (addresses.length === 0) throw new EgressError('unresolvable');
    return addresses;
  }
}

const listAddresses = (answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] =>
  answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
