/** Which URLs a tenant may use. Literal addresses are checked here, names when they are resolved. */
import { isIP } from 'node:net';
import type { AddressPolicy, AddressVerdict } from './address-policy.ts';
import { EgressError } from './egress-error.ts';

export interface URLRules {
  policy: AddressPolicy;
  /** Whether http: may be used to reach what the administrator allows. */
  plainHTTP: boolean;
}

const MAX_URL_LENGTH = 8_192;
const DEFAULT_PORTS = new Map([
  ['https:', 443],
  ['http:', 80],
]);
/** Lower ports belong to system services, whose protocols a request could imitate. */
const FIRST_FREE_PORT = 1_024;

/**
 * The URL as it is dialed. WHATWG's parser has by then turned every way to write an address (decimal, octal, hex,
 * short, full-width, percent-encoded) into the usual one. Throws EgressError.
 */
export function parseEgressURL(text: string, rules: URLRules): URL {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text);
  if (!url) throw new EgressError('url');
  const isPlain = url.protocol === 'http:' && rules.plainHTTP;
  if (url.protocol !== 'https:' && !isPlain) throw new EgressError('scheme');
  if (url.username !== '' || url.password !== '' || hasUserinfo(text)) throw new EgressError('userinfo');
  const port = url.port === '' ? DEFAULT_PORTS.get(url.protocol)! : Number(url.port);
  if (port !== DEFAULT_PORTS.get(url.protocol) && port < FIRST_FREE_PORT) throw new EgressError('port');
  // The trailing dot is not part of a certificate's name, and would make one host look like two.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  url.hash = '';
  const address = readLiteral(url.hostname);
  if (address) requireVerdict(rules.policy(address), url.protocol);
  return url;
}

/** The address if the host is a literal one, without brackets; null for a name. */
export function readLiteral(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

/** Throws EgressError: http: reaches only what the administrator allows, https: also public addresses. */
export function requireVerdict(verdict: AddressVerdict, protocol: string): void {
  if (verdict === 'blocked') throw new EgressError('address');
  if (verdict === 'public' && protocol !== 'https:') throw new EgressError('scheme');
}

/** An empty one, as in https://@host, leaves no trace in a parsed URL. Single characters only, so linear. */
function hasUserinfo(text: string): boolean {
  const slash = text.search(/[/\\]/);
  if (slash < 0) return text.includes('@');
  if (text.lastIndexOf('@', slash) >= 0) return true;
  let start = slash;
  while (text[start] === '/' || text[start] === '\\') start++;
  const authority = text.slice(start).split(/[/\\?#]/, 1)[0]!;
  return authority.includes('@');
}
