/** The path of a request: as the client sent it, and as routes are found by it. */
const DOUBLED = /^\/v1\/v[12]\//;

/** As base URLs with a slash too many make it, or with a `/v1` before what the client adds, as Anthropic's and Cohere's SDKs do. */
export function normalizePath(path: string): string {
  if (!path.includes('//') && !path.endsWith('/') && !DOUBLED.test(path)) return path;
  const slashes = path.replace(/\/{2,}/g, '/');
  const single = DOUBLED.test(slashes) ? slashes.slice('/v1'.length) : slashes;
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}

/** The path without query; proxies may also send a whole URL. */
export function readPath(url: string): string {
  if (!url.startsWith('/')) return URL.parse(url)?.pathname ?? url;
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** By which its route is found. */
export const readRoutePath = (url: string | undefined): string => normalizePath(readPath(url ?? '/'));
