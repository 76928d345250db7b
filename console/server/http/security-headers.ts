/** Content security policy and other security headers. Pure. */

export interface PolicySettings {
  /** For the page; null for other responses. */
  nonce: string | null;
  /** Results may also be at plain HTTP URLs. */
  plainMedia: boolean;
}

export function buildContentPolicy({ nonce, plainMedia }: PolicySettings): string {
  if (nonce === null) return "default-src 'none'; form-action 'none'; frame-ancestors 'none'";
  const media = `'self' blob: data: https:${plainMedia ? ' http:' : ''}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src ${media}`,
    `media-src ${media}`,
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

const YEAR_SECONDS = 31_536_000;

export const buildSecurityHeaders = (isHTTPS: boolean): Record<string, string> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  ...(isHTTPS && { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }),
});
