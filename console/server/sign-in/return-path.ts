/** Where a browser may be redirected after sign-in: to a page of the console, never to another site. Pure. */

/** Fits into a cookie, sealed and with the rest. */
const MAX_LENGTH = 1_024;
/** A dummy origin: a path that leads to another host changes it. */
const BASE = 'http://console.invalid';

/** The path and query of a page; `/` for anything else. */
export function readReturnPath(path: string): string {
  const url = path.startsWith('/') ? URL.parse(path, BASE) : null;
  if (url?.origin !== BASE || url.username || url.password) return '/';
  // Browsers treat a leading `//` as a host, even if it results from normalization.
  if (/^\/[/\\]/.test(url.pathname) || /^\/api(\/|$)/.test(url.pathname)) return '/';
  const page = url.pathname + url.search;
  return page.length > MAX_LENGTH ? '/' : page;
}
