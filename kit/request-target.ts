/** The target and the host of a request (RFC 9112, 3.2 and 3.3). */
import type { IncomingMessage } from 'node:http';

/** A host, or an address in brackets, with or without a port. */
const AUTHORITY = /^(?:\[[\da-f:.]+(?:%[\w.~-]+)?\]|[\w.~%!$&'()*+;=-]+)(?::\d{0,5})?$/i;
const ABSOLUTE = /^(?:http|ws)s?:\/\/([^/?#]*)(.*)$/i;
const MAX_SHOWN_CHARACTERS = 200;

/**
 * Whatever the form of the target, `url` is the path with its query and the Host header the target's authority afterwards. Returns
 * what is wrong; null if nothing is.
 */
export function normalizeTarget(req: IncomingMessage): string | null {
  const { headers, url = '' } = req;
  const fault = findHostFault(req);
  if (fault || url.startsWith('/') || (url === '*' && req.method === 'OPTIONS')) return fault;
  const [, authority = '', path = ''] = ABSOLUTE.exec(url) ?? [];
  if (!AUTHORITY.test(authority))
    return `The request target must be a path, such as /v1/models, or an http URL, not ${shorten(url)}.`;
  headers.host = authority;
  req.url = path.startsWith('/') ? path : `/${path}`;
  return null;
}

function findHostFault({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (host === undefined)
    return httpVersion === '1.0' ? null : 'The Host header is missing: send the host of the URL.';
  if (!AUTHORITY.test(host))
    return `The Host header must be a host name or address, with or without a port, not ${shorten(host)}.`;
  return countHosts(rawHeaders) > 1 ? 'The Host header appears twice: send it once.' : null;
}

/** Node keeps the first of several. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

const shorten = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN_CHARACTERS));
