/** Where links to results may lead instead of to their store: for every link that a client is given. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { LinkPlace } from '../storage/url-signer.ts';

/** Limit of DNS. */
const MAX_HOST_LENGTH = 253;

export type LinkedDeployment = Pick<GatewayConfig, 'name' | 'baseURL' | 'links'>;

/** `headers`: of the client's request; absent: it is not asked by one, as in an event. Undefined: no address is known. */
export function findLinkPlace(
  { name, baseURL, links }: LinkedDeployment,
  headers: IncomingHttpHeaders = {},
): LinkPlace | undefined {
  const base = baseURL === undefined ? null : URL.parse(baseURL);
  const origin = findOrigin(headers, base);
  return origin === undefined ? undefined : { deployment: name, origin, links };
}

/** At which this client reaches the endpoint: SDKs that check links let their own base URL's origin pass. */
function findOrigin(headers: IncomingHttpHeaders, base: URL | null): string | undefined {
  const { host, 'x-forwarded-proto': forwarded } = headers;
  // TLS ends before the gateway: the scheme is known of the deployment's own host, else by what ended it.
  const scheme = /^\s*https\s*(,|$)/i.test(String(forwarded ?? '')) ? 'https' : 'http';
  const asked = host === undefined || /[/?#@\\\s]/.test(host) ? null : URL.parse(`${scheme}://${host}`);
  const isUsable = asked !== null && asked.hostname.length <= MAX_HOST_LENGTH;
  return !isUsable || asked.host === base?.host ? base?.origin : asked.origin;
}
