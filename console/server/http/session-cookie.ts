/** The session cookie: HttpOnly, SameSite=Strict. */
import type { IncomingMessage } from 'node:http';
import type { RequestOrigin } from './request-origin.ts';

export function readSessionCookie(req: IncomingMessage, { cookie }: RequestOrigin): string | null {
  for (const part of (req.headers.cookie ?? '').split(';')) {
    const equals = part.indexOf('=');
    if (part.slice(0, equals).trim() === cookie.name) return part.slice(equals + 1).trim();
  }
  return null;
}

/** Value of Set-Cookie. `maxAgeSeconds` 0 and no ID: deletes it. */
export function formatSessionCookie(
  { cookie }: RequestOrigin,
  { id, maxAgeSeconds }: { id: string; maxAgeSeconds: number },
): string {
  const parts = [
    `${cookie.name}=${id}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(cookie.isSecure ? ['Secure'] : []),
  ];
  return parts.join('; ');
}
