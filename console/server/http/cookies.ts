/** Cookies of the console: all HttpOnly. */
import type { IncomingMessage } from 'node:http';
import type { RequestOrigin } from './request-origin.ts';

/** The session; a pending OIDC sign-in; its error, until the page has shown it. */
export type CookieName = 'session' | 'sign-in' | 'sign-in-error';

export interface Cookie {
  value: string;
  maxAgeSeconds: number;
}

/** Deletes a cookie. */
export const NO_COOKIE: Cookie = { value: '', maxAgeSeconds: 0 };

/** The browser returns from the issuer's site, where Strict cookies would not be sent. */
const SAME_SITE: Record<CookieName, string> = {
  session: 'Strict',
  'sign-in': 'Lax',
  'sign-in-error': 'Strict',
};

export function readCookie(req: IncomingMessage, origin: RequestOrigin, name: CookieName): string | null {
  const wanted = nameOf(origin, name);
  for (const part of (req.headers.cookie ?? '').split(';')) {
    const equals = part.indexOf('=');
    if (part.slice(0, equals).trim() === wanted) return part.slice(equals + 1).trim();
  }
  return null;
}

/** Value of Set-Cookie. */
export function formatCookie(
  origin: RequestOrigin,
  name: CookieName,
  { value, maxAgeSeconds }: Cookie,
): string {
  const parts = [
    `${nameOf(origin, name)}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    `SameSite=${SAME_SITE[name]}`,
    ...(origin.cookie.isSecure ? ['Secure'] : []),
  ];
  return parts.join('; ');
}

const nameOf = ({ cookie }: RequestOrigin, name: CookieName): string =>
  name === 'session' ? cookie.name : `${cookie.name}-${name}`;
