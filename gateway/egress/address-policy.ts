/** Which IP addresses a tenant's URL may resolve to: public unicast ones, and those that the administrator allows. */
import { BlockList, isIP } from 'node:net';

/** `allowed`: only because the administrator allows it. */
export type AddressVerdict = 'public' | 'allowed' | 'blocked';
export type AddressPolicy = (address: string) => AddressVerdict;

export interface AddressRules {
  /** CIDRs or addresses that are always allowed: the only exception. */
  allow: readonly string[];
  /** Public ones that are denied, such as a cluster's pod, service and node ranges. */
  deny: readonly string[];
}

/** IANA's special-purpose registry, and one address of a cloud that looks public. */
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8', // this network, unspecified
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's host: metadata, DNS
  '169.254.0.0/16', // link-local; metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // automatic multicast tunnelling
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

/** All else is not allocated: loopback, unspecified, IPv4-mapped, NAT64, ULA, link- and site-local, multicast … */
const GLOBAL_IPV6 = ['2000::/3'];
const NOT_PUBLIC_IPV6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the former 6bone
  '3fff::/20', // documentation
];

/** Throws a RangeError that names an invalid CIDR. */
export function createAddressPolicy({ allow, deny }: AddressRules): AddressPolicy {
  const allowed = new AddressSet(allow);
  const denied = new AddressSet([...deny, ...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6]);
  const global = new AddressSet(['0.0.0.0/0', ...GLOBAL_IPV6]);
  return (address) => {
    if (allowed.has(address)) return 'allowed';
    return global.has(address) && !denied.has(address) ? 'public' : 'blocked';
  };
}

/** One list per family, since a BlockList treats an IPv4 address and its IPv4-mapped one as equal. */
class AddressSet {
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();

  constructor(cidrs: readonly string[]) {
    for (const cidr of cidrs) this.#add(cidr);
  }

  has(address: string): boolean {
    // An address with a zone is bound to a link.
    if (address.includes('%')) return false;
    const family = isIP(address);
    return family === 4
      ? this.#ipv4.check(address, 'ipv4')
      : family === 6 && this.#ipv6.check(address, 'ipv6');
  }

  #add(cidr: string): void {
    const [address = '', bits, ...rest] = cidr.split('/');
    const family = isIP(address);
    const width = family === 6 ? 128 : 32;
    const length = bits === undefined ? width : Number(bits);
    const isLength = (bits === undefined || /^\d{1,3}$/.test(bits)) && length <= width;
    if (family === 0 || address.includes('%') || !isLength || rest.length > 0)
      throw new RangeError(`"${cidr}" is no CIDR such as 10.0.0.0/8 or fd00::/8`);
    if (family === 6) this.#ipv6.addSubnet(address, length, 'ipv6');
    else this.#ipv4.addSubnet(address, length, 'ipv4');
  }
}
