/** Links into a folder: signed and expiring, like S3's. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface LinkClaims {
  method: 'GET' | 'PUT';
  bucket: string;
  key: string;
  /** Unix seconds at which the link expires. */
  expires: number;
  contentType?: string;
  /** GET: for an attachment. */
  fileName?: string;
  /** PUT: bytes, exactly. */
  contentLength?: number;
}

export type LinkVerdict = LinkClaims | 'tampered' | 'expired';

/** `origin`: such as `http://127.0.0.1:1234`. */
export function signLink(origin: string, claims: LinkClaims, secret: Buffer): string {
  const url = new URL(`/${claims.bucket}/${claims.key}`, origin);
  const { searchParams: query } = url;
  query.set('expires', String(claims.expires));
  if (claims.contentType !== undefined) query.set('type', claims.contentType);
  if (claims.fileName !== undefined) query.set('name', claims.fileName);
  if (claims.contentLength !== undefined) query.set('length', String(claims.contentLength));
  query.set('signature', computeSignature(claims, secret).toString('base64url'));
  return url.href;
}

/** `nowMs`: Unix milliseconds. What a tampered link says is never read. */
export function readLink(method: 'GET' | 'PUT', url: URL, secret: Buffer, nowMs: number): LinkVerdict {
  const [, bucket = '', ...parts] = url.pathname.split('/');
  const { searchParams: query } = url;
  const length = query.get('length');
  const claims: LinkClaims = {
    method,
    bucket,
    key: parts.join('/'),
    expires: Number(query.get('expires')),
    contentType: query.get('type') ?? undefined,
    fileName: query.get('name') ?? undefined,
    contentLength: length === null ? undefined : Number(length),
  };
  const signature = Buffer.from(query.get('signature') ?? '', 'base64url');
  const expected = computeSignature(claims, secret);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return 'tampered';
  return nowMs < claims.expires * 1_000 ? claims : 'expired';
}

function computeSignature(claims: LinkClaims, secret: Buffer): Buffer {
  const { method, bucket, key, expires, contentType, fileName, contentLength } = claims;
  const text = JSON.stringify([
    method,
    bucket,
    key,
    expires,
    contentType ?? null,
    fileName ?? null,
    contentLength ?? null,
  ]);
  return createHmac('sha256', secret).update(text).digest();
}
