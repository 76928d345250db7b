/** Whether clients anywhere may follow a store's links, by the name of its host alone (decision 0358). Pure. */
import { isIP } from 'node:net';
import { createAddressPolicy } from '../egress/address-policy.ts';

/** Names that only one network, or one machine, resolves (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`). */
const PRIVATE_SUFFIX =
  /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa|svc|test|invalid)$/;
/** `name.namespace.svc`, with any cluster domain. */
const CLUSTER_SERVICE = /^[^.]+\.[^.]+\.svc\./;
const judge = createAddressPolicy({ allow: [], deny: [] });

/** `host`: as in a URL, an IPv6 address in brackets. Clients such as the AI SDK refuse links to the others. */
export function isPublicHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  if (isIP(name) !== 0) return judge(name) === 'public';
  return name.includes('.') && !PRIVATE_SUFFIX.test(name) && !CLUSTER_SERVICE.test(name);
}
