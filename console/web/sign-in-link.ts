/** The link of `make run` that signs in: its token stands behind the `#`, which no server and no log ever sees. */

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost']);
const PREFIX = '#token=';

/**
 * Takes the token out of the address, so that no history keeps it; null where there is none. On this machine alone: elsewhere
 * a stranger's link could sign somebody in as the stranger.
 */
export function takeLinkToken(): string | null {
  const { hash, hostname, pathname, search } = window.location;
  if (!hash.startsWith(PREFIX) || !LOOPBACK_HOSTS.has(hostname)) return null;
  window.history.replaceState(window.history.state, '', pathname + search);
  return decodeURIComponent(hash.slice(PREFIX.length));
}
