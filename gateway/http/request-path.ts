/** The path of a request: as sent, and as used for routing. */
/** vLLM serves some routes with and without `/v1`, and clients call either. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['/rerank', '/v1/rerank'],
  ['/score', '/v1/score'],
  ['/v1/tokenize', '/tokenize'],
  ['/v1/detokenize', '/detokenize'],
]);
const DOUBLED = /^\/v1\/v[12]\//;

/** Resolves aliases, and base URLs with an extra slash or with a `/v1` before what Anthropic's and Cohere's SDKs add. */
export function normalizePath(path: string): string {
  const clean = cleanPath(path);
  return ALIASES.get(clean) ?? clean;
}

function cleanPath(path: string): string {
  if (!path.includes('//') && !path.endsWith('/') && !DOUBLED.test(path)) return path;
  const slashes = path.replace(/\/{2,}/g, '/');
  const single = DOUBLED.test(slashes) ? slashes.slice('/v1'.length) : slashes;
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}

/** The path without query. */
export function readPath(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** The path used for routing. */
export const readRoutePath = (url: string | undefined): string => normalizePath(readPath(url ?? '/'));
