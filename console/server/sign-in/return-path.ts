/** Where a browser may be sent after sign-in: to a page of the console, never to another site. Pure. */

/** What a cookie has room for, sealed and beside the rest. */
const MAX_LENGTH = 1_024;
/** Of any host; a path that leads to another one shows in it. */
const BASE = 'http://console.invalid';

/** The path and query of a page; `/` for anything else. */
export function readReturnPath(path: string): string {
  const url = path.startsWith('/') ? URL.parse(path, BASE) : null;
  if (url?.origin !== BASE || url.username || url.password) return '/';
  // Browsers take `//` at the start for a host, also where normalization has made it.
  if (/^\/[/\\]/.test(url.pathname) || /^\/api(\/|$)/.test(url.pathname)) return '/';
  const page = url.pathname + url.search;
  return page.length > MAX_LENGTH ? '/' : page;
}
